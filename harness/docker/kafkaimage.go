package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"kbench/docker/images"
	"kbench/harness/kafka"
	"kbench/harness/provider"
)

// OfficialKafka is the repository of Apache Kafka's own images; the tag is the
// version. One that is on the engine is taken, none is pulled.
const OfficialKafka = "apache/kafka"

// kafkaPlace is where the files of real Kafka are in its container. The jars are
// where the official images have theirs.
var kafkaPlace = kafka.Place{Conf: "/etc/kafka", Libs: "/opt/kafka/libs", Data: "/data/kafka"}

// kafkaImage is an image of Kafka: an official one, which has Java on its PATH and
// whose entrypoint makes a configuration of its own, or ours, whose entrypoint is
// Java.
type kafkaImage struct {
	name     string
	official bool
	inst     kafka.Installation // that ours is made of
}

// kafkaImage finds the official image of a version on the engine, or makes ours.
func (p *Provider) kafkaImage(ctx context.Context, version string) (kafkaImage, error) {
	official := cmp.Or(p.cfg.KafkaImage, OfficialKafka) + ":" + version
	if has, err := p.engine.hasImage(ctx, official); err != nil || has {
		return kafkaImage{name: official, official: true}, err
	}
	b, inst, err := KafkaBuild(version)
	if err != nil {
		return kafkaImage{}, fmt.Errorf("%w; or have the engine pull %s", err, official)
	}
	return kafkaImage{name: b.Name, inst: inst}, p.engine.Ensure(ctx, b)
}

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

// HasKafka reports whether the engine has the official image of a version.
func HasKafka(ctx context.Context, version string) (bool, error) {
	e, err := Open(ctx)
	if err != nil {
		return false, err
	}
	has, err := e.hasImage(ctx, OfficialKafka+":"+version)
	return has, errors.Join(err, e.Close())
}

// runs is a container that runs Java with these arguments.
func (i kafkaImage) runs(name string, args []string, files []inFile) blueprint {
	bp := blueprint{name: name, image: i.name, cmd: args, files: files}
	if i.official {
		bp.entrypoint, bp.user = []string{"java"}, "root" // who may write to the volume
	}
	return bp
}

// formatInside has a container of the image format the storage of a node, and
// gives the files of it.
func (p *Provider) formatInside(ctx context.Context, image kafkaImage, k provider.Kafka) (_ map[string][]byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("format the storage of %s in a container: %w", k.Name, err)
		}
	}()
	n, err := p.create(ctx, image.runs(k.Name+"-format", kafkaPlace.FormatArgs(k), configFiles(kafkaPlace, k)))
	if err != nil {
		return nil, err
	}
	if err := n.Start(ctx); err != nil {
		return nil, err
	}
	if _, code, err := n.Wait(ctx); err != nil || code != 0 {
		return nil, errors.Join(err, fmt.Errorf("it ends with code %d: %s", code, n.logTail(ctx)))
	}
	made, err := n.copyDir(ctx, kafkaPlace.Data)
	if err != nil {
		return nil, err
	}
	return made, p.discard(ctx, n)
}
