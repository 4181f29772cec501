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

	"github.com/testcontainers/testcontainers-go/exec"

	"kbench/docker/images"
	"kbench/harness/kafka"
	"kbench/harness/provider"
)

// kafkaPlace is where the files of real Kafka are in its container.
var kafkaPlace = kafka.Place{Conf: "/etc/kafka", Libs: "/opt/kafka/libs", Data: "/data/kafka"}

// KafkaBuild is our own image of a version of Kafka, of the jars and the Java
// of this machine.
func KafkaBuild(version string) (images.Build, kafka.Installation, error) {
	inst, err := kafka.Find(version)
	if err != nil {
		return images.Build{}, inst, err
	}
	b, err := images.Kafka(inst.Version, inst.Java, inst.Libs)
	return b, inst, err
}

// Kafka implements provider.Provider. Storage is formatted on this machine,
// which has what the image is made of.
func (p *Provider) Kafka(ctx context.Context, k provider.Kafka) (provider.Node, error) {
	image, inst, err := KafkaBuild(k.Version)
	if err != nil {
		return nil, err
	}
	if err := p.engine.Ensure(ctx, image); err != nil {
		return nil, err
	}
	jvm := k.JVM
	if k.Record {
		jvm = append(kafkaPlace.RecordFlags(), jvm...)
	}
	bp := blueprint{name: k.Name, image: image.Name, cmd: kafkaPlace.Args(k.Heap, jvm)}
	for file, text := range kafkaPlace.Files(k.Properties) {
		bp.files = append(bp.files, inFile{path: file, data: []byte(text)})
	}
	if k.ClusterID != "" {
		storage, err := kafka.Format(ctx, inst, k)
		if err != nil {
			return nil, err
		}
		for name, data := range storage {
			bp.files = append(bp.files, inFile{path: path.Join(kafkaPlace.Data, name), data: data})
		}
	}
	n, err := p.create(ctx, bp)
	if err != nil {
		return nil, err
	}
	return &kafkaNode{n, k.Record}, n.Start(ctx)
}

// kafkaNode is a container of real Kafka.
type kafkaNode struct {
	*Node
	record bool
}

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

// DumpRecording implements provider.Recorder, by the jcmd of the image.
func (n *kafkaNode) DumpRecording(ctx context.Context, file string) error {
	if !n.record || !n.Running() {
		return nil
	}
	const dump = "/data/recording.jfr"
	code, said, err := n.tc.Exec(ctx, append([]string{"/opt/java/bin/jcmd"}, kafka.DumpArgs(1, dump)...), exec.Multiplexed())
	if err != nil {
		return err
	}
	if code != 0 {
		text, _ := io.ReadAll(io.LimitReader(said, 600)) // the code is the news
		return fmt.Errorf("jcmd of the image ends with code %d: %s; where the image has none, make it of a JDK", code, bytes.TrimSpace(text))
	}
	r, err := n.CopyFrom(ctx, dump)
	if err != nil {
		return err
	}
	return keep(file, r)
}

// keep writes what r has to a file and closes r.
func keep(file string, r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("collect %s: %w", filepath.Base(file), err)
	}
	return os.WriteFile(file, b, 0o644)
}
