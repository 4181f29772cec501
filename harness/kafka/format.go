package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kbench/harness/provider"
)

// format prepares the node's storage by Kafka's own tool.
func (c Config) format(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, c.Java, c.place().FormatArgs(c.Kafka)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the storage of %s: %w: %s", c.Name, err, tail(out))
	}
	return nil
}

// Format gives the files of a formatted storage by their names in log.dirs, for
// a node that runs elsewhere. It needs a directory for temporary files.
func Format(ctx context.Context, inst Installation, k provider.Kafka) (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "kbench-format-")
	if err != nil {
		return nil, fmt.Errorf("format the storage of %s: %w", k.Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := Config{Installation: inst, Kafka: k, Dir: dir}
	if err := c.configure(); err != nil {
		return nil, err
	}
	if err := c.format(ctx); err != nil {
		return nil, err
	}
	made, err := os.ReadDir(c.place().Data)
	files = map[string][]byte{}
	for _, f := range made {
		if err == nil && f.Type().IsRegular() {
			files[f.Name()], err = os.ReadFile(filepath.Join(c.place().Data, f.Name()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the formatted storage of %s: %w", k.Name, err)
	}
	return files, nil
}

// tail is the end of what a program said, on one line.
func tail(out []byte) string {
	const most = 600
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return "it said nothing"
	}
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.ReplaceAll(string(out), "\n", " | ")
}
