package kafka

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"kbench/harness/provider"
	"kbench/harness/zookeeper"
)

// Installation is a Kafka that can be started.
type Installation struct {
	Java    string // path of the java program
	Libs    string // the directory of the jars; all of them are the class path
	Version string // as it was asked for: that of Kafka's jar, or a build of it such as 4.4.0-mine
}

// homeBuild ends a version that stands for what KAFKA_HOME holds, beside the
// release of the same version.
const homeBuild = "-home"

// Where an installation is looked for.
const (
	envRoot = "KBENCH_KAFKA" // a directory with VERSION/libs
	envHome = "KAFKA_HOME"   // an unpacked release
)

// Find looks for the jars of a version, and for Java.
func Find(version string) (Installation, error) {
	beside := ""
	if exe, err := os.Executable(); err == nil {
		beside = filepath.Join(filepath.Dir(exe), "kafka")
	}
	inst, err := find(os.Getenv, beside, version)
	if err != nil {
		return inst, err
	}
	inst.Java, err = zookeeper.Java()
	return inst, err
}

// find looks for the jars alone.
func find(getenv func(string) string, beside, version string) (Installation, error) {
	var looked []string
	for _, place := range []struct{ what, libs string }{
		{envRoot, below(getenv(envRoot), version, "libs")},
		{envHome, below(getenv(envHome), "libs")},
		{"beside kbench", below(beside, version, "libs")},
	} {
		if place.libs == "" {
			continue
		}
		got, err := versionOf(place.libs)
		switch {
		case err == nil && (got == version || version == got+homeBuild && place.what == envHome || base(got) == base(version) && place.what != envHome):
			libs, err := filepath.Abs(place.libs)
			return Installation{Libs: libs, Version: version}, err
		case err == nil:
			looked = append(looked, fmt.Sprintf("%s has %s in %s", place.what, got, place.libs))
		case place.what != "beside kbench":
			looked = append(looked, fmt.Sprintf("%s: %v", place.what, err))
		}
	}
	also := ""
	if len(looked) > 0 {
		also = " (" + strings.Join(looked, "; ") + ")"
	}
	return Installation{}, fmt.Errorf("version %s of Apache Kafka is %w%s: run `make kafka KAFKA_VERSIONS=%s`, which fetches its jars with Maven, or set KAFKA_HOME to an unpacked release; a build of your own is found in %s/%s/libs, or in KAFKA_HOME as %s%s", version, provider.ErrUnavailable, also, base(version), envRoot, version, base(version), homeBuild)
}

// below joins a path to a root that may not be there.
func below(root string, path ...string) string {
	if root == "" {
		return ""
	}
	return filepath.Join(append([]string{root}, path...)...)
}

// base is the version of which another is a build.
func base(version string) string {
	v, _, _ := strings.Cut(version, "-")
	return v
}

// mainJar is the jar that names the version of all: kafka_SCALA-VERSION.jar. A
// build from sources has -SNAPSHOT or a word of its own.
var mainJar = regexp.MustCompile(`^kafka_[0-9.]+-([0-9]+\.[0-9]+\.[0-9]+(?:-[A-Za-z0-9_.-]+)?)\.jar$`)

// besideMain ends the names of jars that hold no classes of the broker.
var besideMain = regexp.MustCompile(`-(sources|javadoc|scaladoc|test|test-sources|site-docs)$`)

// versionOf gives the version of the Kafka whose jars are in libs.
func versionOf(libs string) (string, error) {
	files, err := os.ReadDir(libs)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read", libs)
	}
	for _, f := range files {
		if m := mainJar.FindStringSubmatch(f.Name()); m != nil && !besideMain.MatchString(m[1]) {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("%s holds no kafka_*.jar", libs)
}
