package nodeconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// Load reads and checks the file. Its error names every fault.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file; name the JSON file that configures the node", path)
	case err != nil:
		return nil, fmt.Errorf("%w; name the JSON file that configures the node", err)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, fmt.Errorf("%s: the file is empty; it must hold the node's name, role, dataDir and what its role needs, as JSON", path)
	}
	var c Config
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, located(b, err))
	}
	if d.More() {
		return nil, fmt.Errorf("%s: something stands behind the configuration: give each node a file of its own", path)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// located adds to an error of the JSON decoder the field it is about, and the
// cure, where the decoder leaves them out.
func located(b []byte, err error) error {
	if bad := (*json.UnmarshalTypeError)(nil); errors.As(err, &bad) {
		cure := "write a " + bad.Type.Kind().String()
		switch bad.Type.Kind() {
		case reflect.Uint16:
			cure = "write a number from 1 to 65535"
		case reflect.Int32:
			cure = "write a whole number of at most 2147483647"
		case reflect.Struct, reflect.Map:
			cure = "write {...}"
		case reflect.Slice:
			cure = "write [...]"
		}
		return fmt.Errorf("%s: %s does not fit: %s", cmp.Or(bad.Field, "the configuration"), bad.Value, cure)
	}
	if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
		before := b[:min(max(int(bad.Offset)-1, 0), len(b))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Errorf("line %d, column %d is not JSON: %w; the file must hold a node's configuration as one JSON object, such as `kbench node --help` shows", line, column, bad)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends before its last }: the file was cut short; `kbench node --help` shows a whole one")
	}
	if bad := (*durationError)(nil); errors.As(err, &bad) {
		var all any
		if json.Unmarshal(b, &all) == nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(pathOf(all, bad.text), "."), bad)
		}
	}
	return err
}

// pathOf finds the field that holds a text.
func pathOf(v any, text string) string {
	switch v := v.(type) {
	case string:
		if v == text {
			return "."
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if rest := pathOf(v[key], text); rest != "" {
				return "." + key + strings.TrimSuffix(rest, ".")
			}
		}
	}
	return ""
}

// Write writes c so that Load reads it again.
func (c *Config) Write(path string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if c.Secret() {
		mode = 0o600
	}
	return os.WriteFile(path, append(b, '\n'), mode)
}

// faults takes what is wrong, when it is: the field, and how to mend it.
type faults func(bad bool, format string, args ...any)

// Check reports every fault of c.
func (c *Config) Check() error {
	var errs []error
	fault := faults(func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	})
	fault(c.Name == "", "name is empty: give the node a name that is unique in its cluster")
	c.checkFiles(fault)
	c.checkRole(fault)
	c.checkAddresses(fault)
	c.checkRanges(fault)
	c.checkSecurity(fault)
	c.checkRebalance(fault)
	c.checkPush(fault)
	c.checkMetadataVersion(fault)
	return errors.Join(errs...)
}

// checkFiles reports a path that is missing or has two uses: one would overwrite
// the other.
func (c *Config) checkFiles(fault faults) {
	fault(c.DataDir == "", "dataDir is empty: give a directory the node may write")
	uses := map[string]string{}
	for _, p := range []struct{ field, path string }{
		{"dataDir", c.DataDir}, {"traceFile", c.TraceFile}, {"diskFaults", c.DiskFaults}, {"metrics.file", c.Metrics.File},
	} {
		if p.path == "" {
			continue
		}
		path := filepath.Clean(p.path)
		fault(uses[path] != "", "%s is %s, as %s is: give it a path of its own", p.field, p.path, uses[path])
		uses[path] = p.field
	}
}

func (c *Config) checkPush(fault faults) {
	if !c.Tuning.RaftPush {
		return
	}
	fault(c.Mode != ModeKRaft, "tuning.raftPush needs mode kraft, not %q: it is another way to replicate the metadata log", c.Mode)
	fault(c.Quorum.Dynamic(), "tuning.raftPush needs static voters: name them in quorum.voters")
	l, secured := c.Security.Listeners[ControllerListener]
	known := l.SecurityProtocol() == kafka.SSL && l.ClientAuth == "required"
	fault(secured && l.SecurityProtocol() != kafka.Plaintext && !known,
		"tuning.raftPush with security.listeners.%s: its voters know each other by certificates and have no passwords; use protocol SSL and clientAuth required, or leave the listener out", ControllerListener)
}

func (c *Config) checkMetadataVersion(fault faults) {
	v := c.Tuning.MetadataVersion
	if v == "" {
		return
	}
	fault(c.Mode != ModeKRaft, "tuning.metadataVersion needs mode kraft, not %q: leave it out", c.Mode)
	_, err := metadata.ParseMetadataVersion(v)
	fault(err != nil, "tuning.metadataVersion: %v", err)
}

func (c *Config) checkRebalance(fault faults) {
	t := c.Tuning
	fault(t.LeaderImbalancePercent < 0 || t.LeaderImbalancePercent > 100, "tuning.leaderImbalancePercent is %d: use 0 to 100; 0 means 10", t.LeaderImbalancePercent)
	fault(!t.AutoLeaderRebalance && (t.LeaderImbalanceInterval != 0 || t.LeaderImbalancePercent != 0),
		"tuning.leaderImbalanceInterval and leaderImbalancePercent mean nothing without tuning.autoLeaderRebalance: set it to true")
}

// AddrOf gives the host:port of the voter with the id, or "" where there is none.
func (q Quorum) AddrOf(id kafka.BrokerID) string {
	for _, v := range q.Voters {
		if v.ID == id {
			return v.Addr()
		}
	}
	return ""
}

// Addr gives the voter's host:port.
func (v Voter) Addr() string { return kafka.Endpoint{Host: v.Host, Port: v.Port}.Addr() }
