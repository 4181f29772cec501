package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
)

// smallDisk gives a directory on a file system of its own, of size bytes, which
// needs root.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("kbench-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") == "1" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("cannot mount a small file system: %v; this test needs root on Linux", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullAndReadOnlyDisk: a controller whose disk is full stops and says so,
// one whose directory is read-only does not start and says so; nothing that was
// acknowledged is lost by either.
func TestFullAndReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, 256<<10)
	cl := newCluster(t, 1, func(c *Config) { c.Raft.Dir = filepath.Join(disk, "data") })
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	n := cl.active(-1)
	var acked []string
	for i := 0; ; i++ {
		name := fmt.Sprintf("topic-%d", i)
		if !n.stands() {
			break
		}
		if i > 500 {
			t.Fatal("256 KiB are not full after 500 topics of 100 partitions")
		}
		if code, ok := cl.tryCreate(n, name, 100, 3); ok && code == kafka.None {
			acked = append(acked, name)
		}
	}
	for _, b := range cl.brokers {
		b.stop()
	}
	cl.brokers = nil
	err := <-n.done
	n.done <- nil
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(disk, "data")) {
		t.Errorf("a full disk ends the controller with: %v", err)
	}
	n.kill()
	if len(acked) == 0 {
		t.Fatal("nothing was acknowledged before the disk was full")
	}

	remount := func(flags uintptr, options string) {
		t.Helper()
		if err := unix.Mount("kbench-test", disk, "tmpfs", unix.MS_REMOUNT|flags, options); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY, "size=64m")
	if c, err := New(Config{Raft: raftclient.Config{NodeID: cl.voters[0].ID, ClusterID: clusterID, Voters: cl.voters, Dir: filepath.Join(disk, "data")}}); err == nil {
		c.Close()
		t.Error("a controller starts on a read-only disk")
	} else if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), disk) {
		t.Errorf("a read-only disk is refused with: %v", err)
	}

	remount(0, "size=64m")
	cl.start(cl.voters[0].ID)
	image := cl.active(-1).c.View().Image
	for _, name := range acked {
		if _, ok := image.Topic(name); !ok {
			t.Errorf("topic %s was acknowledged and is gone", name)
		}
	}
}

// stands reports whether a controller still runs.
func (n *node) stands() bool {
	select {
	case <-n.c.stopped:
		return false
	default:
		return true
	}
}

// tryCreate asks one controller for a topic; false where no answer comes.
func (cl *cluster) tryCreate(n *node, name string, partitions int32, replication int16) (kafka.ErrorCode, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, cl.addr(n.id), wire.DialOptions{})
	if err != nil {
		return 0, false
	}
	defer conn.Close()
	resp, err := conn.Request(ctx, createTopics(name, partitions, replication))
	if err != nil {
		return 0, false
	}
	return kafka.ErrorCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode), true
}
