package images

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ZooKeeper is the image of a local ZooKeeper: its jars, and the Java runtime
// of the java program given.
func ZooKeeper(version, java string, jars []string) (Build, error) {
	all, err := withManifests(jars)
	if err != nil {
		return Build{}, err
	}
	return jarImage("zookeeper", version, java, all, zookeeperDockerfile)
}

// maxJars bounds the search through manifests.
const maxJars = 500

// withManifests adds the jars that manifests name, as Debian's do. Those that
// are not there are left out, as Java does.
func withManifests(jars []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for todo := slices.Clone(jars); len(todo) > 0; todo = todo[1:] {
		jar := todo[0]
		if st, err := os.Stat(jar); err != nil || st.IsDir() || seen[filepath.Base(jar)] {
			continue
		}
		if len(out) == maxJars {
			return nil, fmt.Errorf("the class path of %s has more than %d jars", jars[0], maxJars)
		}
		seen[filepath.Base(jar)] = true
		out = append(out, jar)
		more, err := manifestClassPath(jar)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", jar, err)
		}
		todo = append(todo, more...)
	}
	if len(out) == 0 {
		return nil, errors.New("no jar of ZooKeeper is there")
	}
	return out, nil
}

// manifestClassPath reads Class-Path; its lines go on with a space.
func manifestClassPath(jar string) ([]string, error) {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }()
	f, err := z.Open("META-INF/MANIFEST.MF")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var value strings.Builder
	in := false
	for s := bufio.NewScanner(io.LimitReader(f, 1<<20)); s.Scan(); {
		line := s.Text()
		if rest, ok := strings.CutPrefix(line, "Class-Path: "); ok {
			in = true
			value.WriteString(rest)
		} else if rest, ok := strings.CutPrefix(line, " "); ok && in {
			value.WriteString(rest)
		} else {
			in = false
		}
	}
	var out []string
	for _, p := range strings.Fields(value.String()) {
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.Dir(jar), p)
		}
		out = append(out, p)
	}
	return out, nil
}
