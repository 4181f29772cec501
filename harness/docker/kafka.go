package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"kbench/harness/jvm"
	"kbench/harness/kafka"
	"kbench/harness/provider"
)

// Kafka implements provider.Provider.
func (p *Provider) Kafka(ctx context.Context, k provider.Kafka) (provider.Node, error) {
	image, err := p.kafkaImage(ctx, k.Version)
	if err != nil {
		return nil, err
	}
	flags := k.JVM
	if k.Record {
		flags = append(jvm.RecordFlags(recordingDir), flags...)
	}
	configure := func(ctx context.Context, data string) ([]inFile, error) { return p.kafkaFiles(ctx, image, k, data) }
	files, err := configure(ctx, kafkaPlace.Data)
	if err != nil {
		return nil, err
	}
	n, err := p.create(ctx, image.runs(k.Name, kafkaPlace.Args(k.Heap, flags), files))
	if err != nil {
		return nil, err
	}
	n.dataDir, n.configure = kafkaPlace.Data, configure
	n.figures = &figures{}
	return &kafkaNode{jvmNode{n, k.Record}, image.name}, n.Start(ctx)
}

// kafkaFiles are the configuration of a node and the files of its storage, where
// that has to be formatted.
func (p *Provider) kafkaFiles(ctx context.Context, image kafkaImage, k provider.Kafka, data string) (files []inFile, err error) {
	place := kafkaPlace
	place.Data = data
	if files = configFiles(place, k); k.ClusterID == "" {
		return files, nil
	}
	var storage map[string][]byte
	if image.official {
		storage, err = p.formatInside(ctx, image, k)
	} else {
		storage, err = kafka.Format(ctx, image.inst, k)
	}
	for name, content := range storage {
		files = append(files, inFile{path: path.Join(data, name), data: content})
	}
	return files, err
}

// configFiles are the configuration of a node whose files are at place.
func configFiles(place kafka.Place, k provider.Kafka) (files []inFile) {
	for file, text := range place.Files(k.Properties) {
		files = append(files, inFile{path: file, data: []byte(text)})
	}
	return files
}

// kafkaNode is a container of real Kafka.
type kafkaNode struct {
	jvmNode
	image string
}

var (
	_ provider.Described = (*kafkaNode)(nil)
	_ provider.Heaped    = (*kafkaNode)(nil)
)

// Description implements provider.Described.
func (n *kafkaNode) Description() string { return "image " + n.image }

// ordered is the exit code of a JVM that ended in order after SIGTERM.
const ordered = 128 + int(syscall.SIGTERM)

// Wait implements provider.Node. An orderly stop is code 0, as it is of other
// nodes.
func (n *kafkaNode) Wait(ctx context.Context) (int64, int, error) {
	seen, code, err := n.Node.Wait(ctx)
	if err == nil && n.status() == ordered {
		code = 0
	}
	return seen, code, err
}

// Trace implements provider.Node: what the log tells.
func (n *kafkaNode) Trace(ctx context.Context) (io.ReadCloser, error) {
	var log, out bytes.Buffer
	if err := n.Logs(ctx, &log); err != nil {
		return nil, err
	}
	err := kafka.WriteTrace(&out, n.name, &log, kafka.WallToMonotonic())
	return io.NopCloser(&out), err
}

// Collect implements provider.Node. The configuration and what the log tells go
// with the log.
func (n *kafkaNode) Collect(ctx context.Context, dir string) error {
	err := n.Node.Collect(ctx, dir)
	tell, terr := n.Trace(ctx)
	if terr == nil {
		terr = keep(filepath.Join(dir, n.name+".trace.jsonl"), tell)
	}
	conf, cerr := n.CopyFrom(ctx, path.Join(kafkaPlace.Conf, "server.properties"))
	if cerr == nil {
		cerr = keep(filepath.Join(dir, n.name+".properties"), conf)
	}
	return errors.Join(err, terr, cerr)
}

// LiveHeap implements provider.Heaped, by the jcmd of the image.
func (n *kafkaNode) LiveHeap(ctx context.Context) (int64, error) {
	said, err := n.jcmd(ctx, kafka.HeapArgs(1))
	if err != nil {
		return 0, err
	}
	return kafka.LiveBytes(said)
}

// keep writes what r has to a file and closes r.
func keep(file string, r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("collect %s: %w", filepath.Base(file), err)
	}
	return os.WriteFile(file, b, 0o644)
}
