package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"kbench/docker/images"
	"kbench/harness/docker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "build images:", err)
		os.Exit(1)
	}
}

func run() error {
	node := flag.String("node", "bin/kbench", "the kbench binary of the node image, static; empty for none")
	zookeeper := flag.Bool("zookeeper", true, "build the images of Java and ZooKeeper where this machine has both")
	kafka := flag.String("kafka", "", "versions of Apache Kafka, apart by commas, whose jars this machine has")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("no argument is taken, got %q", flag.Args())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e, err := docker.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	var builds []images.Build
	if *node != "" {
		b, err := images.Node(*node)
		if err != nil {
			return err
		}
		builds = append(builds, b)
	}
	if *zookeeper {
		switch b, err := docker.ZooKeeperBuild(); {
		case err != nil:
			fmt.Fprintln(os.Stderr, "no image of ZooKeeper:", err)
		default:
			builds = append(builds, *b.Base, b)
		}
	}
	for version := range strings.SplitSeq(*kafka, ",") {
		if version == "" {
			continue
		}
		b, _, err := docker.KafkaBuild(version)
		if err != nil {
			return err
		}
		builds = append(builds, *b.Base, b)
	}
	for _, b := range builds {
		if err := e.Ensure(ctx, b); err != nil {
			return err
		}
		fmt.Println(b.Name)
	}
	return nil
}
