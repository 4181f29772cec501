package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"golang.org/x/sys/unix"
)

// TestBadSpecs runs testdata/bad: each case is a spec, or overrides of the
// built-in one, and the golden answer is every fault, a line each.
func TestBadSpecs(t *testing.T) {
	datadriven.Walk(t, "testdata/bad", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var err error
			switch d.Cmd {
			case "spec":
				src := strings.NewReplacer("→", "\t", "␀", "\x00", "·", "").Replace(d.Input)
				_, err = Parse("bad.yaml", []byte(src))
			case "set":
				var o []Override
				for line := range strings.Lines(d.Input) {
					path, value, _ := strings.Cut(strings.TrimSpace(line), "=")
					o = append(o, Override{Origin: "--set", Path: path, Value: value})
				}
				_, err = Default(o...)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err == nil {
				return "accepted\n"
			}
			return err.Error() + "\n"
		})
	})
}

func TestFilesThatAreNoSpecs(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# much\n", maxBytes/7+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "binary.yaml")
	if err := os.WriteFile(binary, []byte("\xff\xfe\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                            "is a directory; name the YAML file in it",
		filepath.Join(dir, "no.yaml"):  "no such file; name a YAML file",
		big:                            "the file has more than 64 KiB",
		binary:                         "the file is not UTF-8 text",
		"/dev/zero":                    "is not a regular file",
		filepath.Join(big, "deeper"):   "not a directory",
		filepath.Join(dir, "a\nb.yml"): "a b.yml: no such file",
	} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") != 0 {
			t.Errorf("%q: %v, want one line with %q", path, err, want)
		}
	}
}

// TestEditorsOfWindows: a byte order mark and CR LF are no faults.
func TestEditorsOfWindows(t *testing.T) {
	s, err := Parse("crlf.yaml", []byte("\ufeffname: x\r\ntargets: [zk]\r\nworkloads:\r\n  - {kind: propagation}\r\n"))
	if err != nil || s.Name != "x" {
		t.Errorf("%v, %v", s, err)
	}
}

// TestHostileFilesAreQuick: what makes the parser slow is refused first.
func TestHostileFilesAreQuick(t *testing.T) {
	for name, unit := range map[string]string{
		"dashes": "- ", "keys": "a: 1\n", "items": "- 1\n", "questions": "? ", "anchors": "&a ", "colons": "a: ", "quotes": "'' ",
	} {
		before := cpuTime(t) // other work on the machine is not the parser's
		_, err := Parse("hostile.yaml", []byte(strings.Repeat(unit, maxBytes/len(unit))))
		if took := cpuTime(t) - before; err == nil || took > 5*time.Second {
			t.Errorf("%s: %v after %v of CPU", name, err, took)
		}
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestManyFaultsAreCounted(t *testing.T) {
	src := "workloads: [{kind: propagation}]\n"
	for range 80 {
		src += "nope" + strings.Repeat("x", len(src)%97) + ": 1\n"
	}
	_, err := Parse("many.yaml", []byte(src))
	if err == nil || strings.Count(err.Error(), "\n") != maxShownFaults || !strings.HasSuffix(err.Error(), "more faults") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse: no input panics, faults are single lines, and what is accepted
// has a normalised form with the same hash.
func FuzzParse(f *testing.F) {
	f.Add(nightly)
	f.Add(string(DefaultYAML()))
	f.Add("a:\n\tb: [1, {c: *x}]\n---\n")
	f.Add("workloads: [{kind: propagation, rate: 1/3/s}]\nset: {kraft: {append: {linger: 5ms}}}")
	f.Add("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := Parse("f.yaml", []byte(src))
		if err != nil {
			if n := strings.Count(err.Error(), "\n"); n > maxShownFaults {
				t.Errorf("%d lines of faults", n)
			}
			return
		}
		again, err := Parse("again.yaml", s.YAML())
		if err != nil || again.Hash() != s.Hash() {
			t.Errorf("normalised form: %v\n%s", err, s.YAML())
		}
	})
}

// FuzzOverride: `--set` of anything is judged, never a panic.
func FuzzOverride(f *testing.F) {
	f.Add("sweep.partitions", "[1k]")
	f.Add("workloads.propagation.rate", "5/s")
	f.Add("set.kraft", "{append: {linger: 1ms}}")
	f.Add("..", "\t")
	f.Fuzz(func(t *testing.T, path, value string) {
		_, err := Default(Override{Origin: "--set", Path: path, Value: value})
		if err != nil && err.Error() == "" {
			t.Error("a fault without words")
		}
	})
}
