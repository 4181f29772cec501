package images

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
)

// Node is the image of a kbench binary, which must be static: there is no
// loader and no library in the image.
func Node(binary string) (Build, error) {
	if err := checkStatic(binary); err != nil {
		return Build{}, err
	}
	f, err := os.Open(binary)
	if err != nil {
		return Build{}, err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Build{}, fmt.Errorf("read %s: %w", binary, err)
	}
	sum.Write(nodeDockerfile)
	return Build{
		Name:   fmt.Sprintf("kbench.local/node:%x", sum.Sum(nil)[:8]),
		Labels: map[string]string{Label: "node"},
		write: func(a *archive) error {
			return errors.Join(a.bytes("Dockerfile", 0o644, nodeDockerfile), a.file("kbench", binary))
		},
	}, nil
}

// checkStatic refuses a binary that asks for a loader.
func checkStatic(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("%s is no Linux program, which containers need: %w", binary, err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically and cannot run in an empty image: build it with CGO_ENABLED=0 (make build)", binary)
		}
	}
	return nil
}
