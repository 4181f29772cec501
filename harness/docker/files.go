package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// nodeFiles are the places of what a node writes, in its container; "" for
// what it does not.
type nodeFiles struct{ trace, metrics string }

// Trace implements provider.Node.
func (n *Node) Trace(ctx context.Context) (io.ReadCloser, error) {
	if n.files.trace == "" {
		return io.NopCloser(strings.NewReader("")), nil
	}
	r, err := n.CopyFrom(ctx, n.files.trace)
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return r, err
}

// copyTo puts files into the container, all in one stream.
func (n *Node) copyTo(ctx context.Context, files []inFile) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		mode := int64(0o644)
		if f.private {
			mode = 0o600
		}
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.path, "/"), Mode: mode, Size: int64(len(f.data)), ModTime: time.Unix(0, 0),
		})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := n.engine.api.CopyToContainer(ctx, n.ID(), client.CopyToContainerOptions{DestinationPath: "/", Content: &b})
	return err
}

// CopyFrom reads one file of the container, running or not. A file that is not
// there is os.ErrNotExist.
func (n *Node) CopyFrom(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := n.engine.api.CopyFromContainer(ctx, n.ID(), client.CopyFromContainerOptions{SourcePath: path})
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("%s of %s: %w", path, n.name, os.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, n.name, err)
	}
	t := tar.NewReader(res.Content)
	if _, err := t.Next(); err != nil {
		_ = res.Content.Close()
		return nil, fmt.Errorf("read %s of %s: %w", path, n.name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{t, res.Content}, nil
}

// maxDirFile bounds a file that copyDir reads, in bytes.
const maxDirFile = 64 << 20

// copyDir reads the files of a directory of the container by their names; those
// of directories in it are left out.
func (n *Node) copyDir(ctx context.Context, dir string) (map[string][]byte, error) {
	res, err := n.engine.api.CopyFromContainer(ctx, n.ID(), client.CopyFromContainerOptions{SourcePath: dir})
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", dir, n.name, err)
	}
	defer func() { _ = res.Content.Close() }()
	out := map[string][]byte{}
	for t := tar.NewReader(res.Content); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && h.Typeflag == tar.TypeReg && path.Dir(h.Name) == path.Base(dir) {
			out[path.Base(h.Name)], err = io.ReadAll(io.LimitReader(t, maxDirFile))
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", dir, n.name, err)
		}
	}
}

// Logs writes what the container has said so far, both streams.
func (n *Node) Logs(ctx context.Context, w io.Writer) error {
	r, err := n.engine.api.ContainerLogs(ctx, n.ID(), client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return fmt.Errorf("logs of %s: %w", n.name, err)
	}
	_, err = stdcopy.StdCopy(w, w, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("logs of %s: %w", n.name, err)
	}
	return nil
}

// logTail is the end of the log for an error message.
func (n *Node) logTail(ctx context.Context) string {
	var b strings.Builder
	if err := n.Logs(ctx, &b); err != nil || strings.TrimSpace(b.String()) == "" {
		return "(empty)"
	}
	const tail = 600
	text := strings.TrimSpace(b.String())
	return strings.ReplaceAll(text[max(0, len(text)-tail):], "\n", " | ")
}

// Collect implements provider.Node.
func (n *Node) Collect(ctx context.Context, dir string) error {
	err := errors.Join(
		toFile(filepath.Join(dir, n.name+".log"), func(w io.Writer) error { return n.Logs(ctx, w) }),
		n.figures.keep(dir, n.name))
	for from, to := range map[string]string{n.files.trace: ".trace.jsonl", n.files.metrics: ".metrics.jsonl"} {
		if from == "" {
			continue
		}
		r, cerr := n.CopyFrom(ctx, from)
		if errors.Is(cerr, os.ErrNotExist) {
			continue
		}
		if cerr == nil {
			cerr = toFile(filepath.Join(dir, n.name+to), func(w io.Writer) error {
				_, err := io.Copy(w, r)
				return err
			})
			cerr = errors.Join(cerr, r.Close())
		}
		err = errors.Join(err, cerr)
	}
	return err
}

func toFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
