package zookeeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"kbench/harness/provider"
)

// Installation is a ZooKeeper that can be started.
type Installation struct {
	Java      string   // path of the java program
	ClassPath []string // jars, in order
	Version   string   // as the jar is named, "3.8.0"; "" if it does not say
	Source    string   // where it was found, for messages
}

// DebianJars is where Debian's packages put theirs. The manifest of
// zookeeper.jar names what else it needs there.
const DebianJars = "/usr/share/java"

// Find looks for jars and Java.
func Find() (Installation, error) { return find(os.Getenv, DebianJars) }

func find(getenv func(string) string, debian string) (Installation, error) {
	inst, err := findJars(getenv("ZOOKEEPER_HOME"), debian)
	if err != nil {
		return inst, err
	}
	inst.Java, err = findJava(getenv("JAVA_HOME"), getenv("PATH"))
	return inst, err
}

func findJars(home, debian string) (Installation, error) {
	if home != "" {
		return fromHome(home)
	}
	main := filepath.Join(debian, "zookeeper.jar")
	if !isFile(main) {
		return Installation{}, fmt.Errorf("a real ZooKeeper is %w: set ZOOKEEPER_HOME to an unpacked release, or install Debian's package: apt-get install zookeeper libzookeeper-java", provider.ErrUnavailable)
	}
	inst := Installation{ClassPath: []string{main}, Source: main}
	// slf4j needs one backend; simple writes to standard error, nop nowhere.
	for _, backend := range []string{"slf4j-simple.jar", "slf4j-nop.jar"} {
		if jar := filepath.Join(debian, backend); isFile(jar) {
			inst.ClassPath = append(inst.ClassPath, jar)
			break
		}
	}
	versions, _ := filepath.Glob(filepath.Join(debian, "zookeeper-[0-9]*.jar"))
	inst.Version = versionOf(versions)
	return inst, nil
}

// fromHome takes a release: jars in lib, and before 3.5.5 the main jar beside
// it.
func fromHome(home string) (Installation, error) {
	var jars []string
	for _, pattern := range []string{"zookeeper-*.jar", "lib/*.jar"} {
		found, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			return Installation{}, fmt.Errorf("ZOOKEEPER_HOME is %q, which is no path: %w", home, err)
		}
		jars = append(jars, found...)
	}
	slices.Sort(jars)
	version := versionOf(jars)
	if version == "" {
		return Installation{}, fmt.Errorf("ZOOKEEPER_HOME is %q and holds no lib/zookeeper-<version>.jar: let it name an unpacked release, or unset it", home)
	}
	return Installation{ClassPath: jars, Version: version, Source: home}, nil
}

var mainJar = regexp.MustCompile(`^zookeeper-([0-9][0-9A-Za-z.\-]*)\.jar$`)

func versionOf(jars []string) string {
	for _, j := range jars {
		if m := mainJar.FindStringSubmatch(filepath.Base(j)); m != nil {
			return m[1]
		}
	}
	return ""
}

// Java is the path of the java program that servers run on.
func Java() (string, error) { return findJava(os.Getenv("JAVA_HOME"), os.Getenv("PATH")) }

func findJava(home, path string) (string, error) {
	if home != "" {
		java := filepath.Join(home, "bin", "java")
		if !isProgram(java) {
			return "", fmt.Errorf("JAVA_HOME is %q and holds no bin/java: let it name a Java installation, or unset it", home)
		}
		return java, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if java := filepath.Join(dir, "java"); filepath.IsAbs(dir) && isProgram(java) {
			return java, nil
		}
	}
	return "", fmt.Errorf("no Java: one is %w: install it (apt-get install openjdk-17-jre-headless) or set JAVA_HOME", provider.ErrUnavailable)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && isFile(path)
}
