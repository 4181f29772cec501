package images

import (
	"archive/tar"
	_ "embed" // the Dockerfiles
	"fmt"
	"io"
	"os"
	"time"
)

//go:embed node.Dockerfile
var nodeDockerfile []byte

//go:embed jre.Dockerfile
var jreDockerfile []byte

//go:embed zookeeper.Dockerfile
var zookeeperDockerfile []byte

//go:embed kafka.Dockerfile
var kafkaDockerfile []byte

// Label is on every image and names what it is: node, jre, zookeeper or kafka.
const Label = "kbench.image"

// Build is one image to be built.
type Build struct {
	Name   string            // with its tag
	Labels map[string]string // Label among them
	Args   map[string]string // ARGs of the Dockerfile
	Base   *Build            // to be built before, or nil

	write func(*archive) error
}

// Context streams the tar that the engine builds from. The reader gives the
// error of a file that cannot be read; Close ends it early.
func (b Build) Context() io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		a := &archive{w: tar.NewWriter(w)}
		err := b.write(a)
		if err == nil {
			err = a.w.Close()
		}
		_ = w.CloseWithError(err)
	}()
	return r
}

// archive writes reproducible tar entries: owned by root, of the epoch.
type archive struct{ w *tar.Writer }

func (a *archive) bytes(name string, mode int64, data []byte) error {
	err := a.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: time.Unix(0, 0)})
	if err == nil {
		_, err = a.w.Write(data)
	}
	return err
}

func (a *archive) dir(name string, mode int64) error {
	return a.w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, ModTime: time.Unix(0, 0)})
}

// file copies a file of this machine, following links.
func (a *archive) file(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if st.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := a.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: st.Size(), ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	if _, err := io.CopyN(a.w, f, st.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}
