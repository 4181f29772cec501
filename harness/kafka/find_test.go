package kafka

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/harness/provider"
)

func TestFindNamesTheCure(t *testing.T) {
	dir := t.TempDir()
	jar := func(path ...string) {
		t.Helper()
		name := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	jar("root", "4.4.0", "libs", "kafka_2.13-4.4.0.jar")
	jar("home", "libs", "kafka_2.13-3.9.2.jar")
	jar("beside", "3.9.2", "libs", "kafka_2.13-3.9.2.jar")
	jar("root", "4.4.0-mine", "libs", "kafka_2.13-4.4.0.jar")
	jar("snapshot", "libs", "kafka_2.13-4.5.0-SNAPSHOT.jar")
	jar("snapshot", "libs", "kafka_2.13-4.5.0-SNAPSHOT-sources.jar")
	jar("sources", "libs", "kafka_2.13-4.5.0-sources.jar")
	jar("empty", "4.4.0", "libs", "other.jar")
	p := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name, root, home, beside, version string
		want                              string // the libs below dir, "" for an error
		says                              string // in the error
	}{
		{"explicit root", p("root"), p("home"), p("beside"), "4.4.0", "root/4.4.0/libs", ""},
		{"home", p("root"), p("home"), "", "3.9.2", "home/libs", ""},
		{"beside the binary", "", "", p("beside"), "3.9.2", "beside/3.9.2/libs", ""},
		{"home of another version", "", p("home"), "", "4.4.0", "", "KAFKA_HOME has 3.9.2"},
		{"root without jars", p("empty"), "", "", "4.4.0", "", "holds no kafka_*.jar"},
		{"a build beside the release", p("root"), p("home"), "", "4.4.0-mine", "root/4.4.0-mine/libs", ""},
		{"what the home holds", p("root"), p("home"), "", "3.9.2-home", "home/libs", ""},
		{"a snapshot", "", p("snapshot"), "", "4.5.0-SNAPSHOT", "snapshot/libs", ""},
		{"a snapshot as home", "", p("snapshot"), "", "4.5.0-SNAPSHOT-home", "snapshot/libs", ""},
		{"another version's home", "", p("home"), "", "4.4.0-home", "", "KAFKA_HOME has 3.9.2"},
		{"sources alone", "", p("sources"), "", "4.5.0", "", "holds no kafka_*.jar"},
		{"nothing", "", "", p("beside"), "4.1.0", "", "make kafka"},
	} {
		env := map[string]string{envRoot: c.root, envHome: c.home}
		inst, err := find(func(k string) string { return env[k] }, c.beside, c.version)
		switch {
		case c.want != "" && (err != nil || inst.Libs != filepath.Join(dir, filepath.FromSlash(c.want)) || inst.Version != c.version):
			t.Errorf("%s: %+v, %v", c.name, inst, err)
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, provider.ErrUnavailable)):
			t.Errorf("%s: %+v, %v", c.name, inst, err)
		}
	}
}
