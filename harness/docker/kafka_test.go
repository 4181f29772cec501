package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"kbench/harness/jvm"
	"kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka/wire"
)

// kafkaVersion is one whose jars `make kafka` fetches.
const kafkaVersion = "4.4.0"

// kafkaHere skips where this machine has no jars of Kafka.
func kafkaHere(t *testing.T) kafka.Installation {
	t.Helper()
	if os.Getenv("KBENCH_KAFKA") == "" {
		root, err := filepath.Abs(filepath.Join("..", "..", "bin", "kafka"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("KBENCH_KAFKA", root)
	}
	inst, err := kafka.Find(kafkaVersion)
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_KAFKA") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: ", err)
	}
	return inst
}

// launchQuorum starts a quorum of one real controller.
func launchQuorum(t *testing.T, p *Provider, record bool) (n provider.Node, addr string) {
	t.Helper()
	ctx := within(t, 4*time.Minute)
	host, ports, err := p.Reserve(ctx, "controller-1001", 1)
	if err != nil {
		t.Fatal(err)
	}
	n, err = p.Kafka(ctx, provider.Kafka{
		Name: "controller-1001", Version: kafkaVersion, ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", Heap: "256m", Record: record,
		Properties: kafka.Controller{Quorum: kafka.Quorum{
			ID: 1001, Voters: []nodeconfig.Voter{{ID: 1001, Host: host, Port: ports[0]}},
			FetchTimeout: time.Second, ElectionTimeout: 500 * time.Millisecond, ElectionBackoffMax: time.Second,
			BrokerSession: 9 * time.Second, BrokerHeartbeat: 2 * time.Second,
		}}.Properties(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, net.JoinHostPort(host, fmt.Sprint(ports[0]))
}

// An image with the layout of the official ones, whose user is not root, whose
// Java is on the PATH and whose entrypoint is not Java, formats its storage and
// runs where this machine is not asked for jars.
func TestOfficialKafka(t *testing.T) {
	kafkaHere(t)
	p := newProvider(t)
	ctx := within(t, 8*time.Minute)
	ours, err := p.kafkaImage(ctx, kafkaVersion)
	if err != nil {
		t.Fatal(err)
	}
	p.cfg.KafkaImage = fmt.Sprintf("kbench.local/test-%d-kafka", os.Getpid())
	image := p.cfg.KafkaImage + ":" + kafkaVersion
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	dockerfile := fmt.Appendf(nil, "FROM %[1]s\nCOPY --from=%[1]s /opt/java /opt/java/openjdk\nENV PATH=/opt/java/openjdk/bin\nUSER 1000\nENTRYPOINT [\"/__cacert_entrypoint.sh\"]\nCMD [\"/etc/kafka/docker/run\"]\n", ours.name)
	err = w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))})
	if err == nil {
		_, err = w.Write(dockerfile)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	res, err := p.engine.api.ImageBuild(ctx, &b, client.ImageBuildOptions{Tags: []string{image}, Remove: true, ForceRemove: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(buildError(res.Body), res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := p.engine.api.ImageRemove(context.Background(), image, client.ImageRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("KBENCH_KAFKA", t.TempDir())
	n, addr := launchQuorum(t, p, false)
	if d := n.(provider.Described).Description(); d != "image "+image {
		t.Errorf("it runs from %s", d)
	}
	awaitServing(t, addr)
	kill(t, n)
	if err := errors.Join(n.(provider.Emptied).Empty(ctx), n.Start(ctx)); err != nil {
		t.Fatal(err)
	}
	awaitServing(t, addr)
	if len(p.nodes) != 1 {
		t.Errorf("%d containers are left of those that formatted", len(p.nodes)-1)
	}
}

// A quorum of one real controller starts on formatted storage, stops in order,
// comes back with what it had, and is killed.
func TestKafka(t *testing.T) {
	inst := kafkaHere(t)
	p := newProvider(t)
	ctx := within(t, 8*time.Minute)
	n, addr := launchQuorum(t, p, true)
	first := awaitLead(t, n, 0)
	awaitServing(t, addr) // a Kafka that is stopped as it starts fails
	stop := func(s provider.Signal, want int) {
		t.Helper()
		sent, err := n.Signal(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if seen, code, err := n.Wait(ctx); err != nil || code != want || seen < sent {
			t.Fatalf("after %s: seen %d, sent %d, code %d, %v", s, seen, sent, code, err)
		}
	}
	stop(provider.Term, 0)
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	awaitLead(t, n, first)
	dir := t.TempDir()
	if _, err := jvm.Jcmd(inst.Java); err != nil {
		t.Log("SKIPPED: no recording was taken: ", err)
	} else {
		wantRecording(t, n, filepath.Join(dir, "controller-1001.jfr"))
	}
	stop(provider.Kill, -1)
	if err := n.Collect(ctx, dir); err != nil {
		t.Error(err)
	}
	for _, file := range []string{".log", ".trace.jsonl", ".properties", ".metrics.jsonl"} {
		if b, err := os.ReadFile(filepath.Join(dir, "controller-1001"+file)); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", file, len(b), err)
		}
	}
	// With an empty disk it is another directory, formatted anew.
	if err := errors.Join(n.(provider.Emptied).Empty(ctx), n.Start(ctx)); err != nil {
		t.Fatal(err)
	}
	awaitServing(t, addr)
	ids := map[string]bool{}
	for _, data := range []string{"/data/kafka", "/data/kafka-1"} {
		r, err := n.(*kafkaNode).CopyFrom(ctx, data+"/meta.properties")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		ids[string(b)] = true
	}
	if len(ids) != 2 {
		t.Errorf("the directories are one: %v", ids)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "controller-1001.properties")); err != nil || !strings.Contains(string(b), "node.id=1001\n") {
		t.Errorf("server.properties is %q, %v", b, err)
	}
}

func wantRecording(t *testing.T, n provider.Node, file string) {
	t.Helper()
	if err := n.(provider.Recorder).DumpRecording(within(t, time.Minute), file); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), "FLR\x00") {
		t.Errorf("no recording: %d bytes, %v", len(b), err)
	}
}

func awaitServing(t *testing.T, addr string) {
	t.Helper()
	ctx := within(t, 4*time.Minute)
	for ctx.Err() == nil {
		if conn, err := wire.Dial(ctx, addr, wire.DialOptions{ClientID: "test"}); err == nil {
			_, err = conn.APIVersions(ctx)
			conn.Close()
			if err == nil {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not serve", addr)
}

// awaitLead waits until the log tells of an active controller in an epoch after
// this one, and gives its epoch.
func awaitLead(t *testing.T, n provider.Node, after int64) int64 {
	t.Helper()
	ctx := within(t, 4*time.Minute)
	for ctx.Err() == nil {
		r, err := n.Trace(ctx)
		if err != nil {
			t.Fatal(err)
		}
		events, err := trace.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == trace.ControllerActive && e.Epoch > after {
				return e.Epoch
			}
		}
		if !n.Running() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no controller is active after epoch %d", after)
	return 0
}
