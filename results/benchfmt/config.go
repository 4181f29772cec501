package benchfmt

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"kbench/results"
)

// head writes what tells the run from others, as comments.
func head(w io.Writer, m results.Manifest) error {
	commit := m.Tool.Commit
	if m.Tool.Dirty {
		commit += " (changed)"
	}
	for _, line := range [][2]string{
		{"run", m.ID},
		{"started", m.Started.UTC().Format(time.RFC3339)},
		{"kbench", m.Tool.Version},
		{"commit", commit},
		{"spec", m.Name},
		{"spec hash", m.SpecHash},
		{"verdict", string(m.Verdict)},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "# %s: %s\n", line[0], strings.TrimSpace(results.OneLine(line[1]))); err != nil {
			return err
		}
	}
	return nil
}

// config is the environment, which comparable runs share.
func config(m results.Manifest) []benchfmt.Config {
	e := m.Environment
	var out []benchfmt.Config
	add := func(key, value string) {
		if value = strings.TrimSpace(results.OneLine(value)); value != "" {
			out = append(out, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("goos", e.OS)
	add("goarch", e.Arch)
	add("cpu", e.CPU)
	add("cores", strconv.Itoa(e.Cores))
	add("memory-mb", strconv.FormatInt(e.MemoryMB, 10))
	add("kernel", e.Kernel)
	add("filesystem", e.FileSystem)
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		add(configKey(name)+"-version", e.Versions[name])
	}
	add("provider", m.Provider)
	add("environment", m.EnvHash)
	return out
}

// configKey makes a key of any name: the format wants a lower-case letter
// first and neither spaces, colons nor upper case.
func configKey(name string) string {
	key := strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(r); {
		case unicode.IsSpace(r) || r == ':' || !unicode.IsPrint(r) || unicode.IsUpper(r):
			return '-'
		}
		return r
	}, name)
	if first := []rune(key + "-")[0]; !unicode.IsLower(first) {
		key = "x-" + key
	}
	return key
}
