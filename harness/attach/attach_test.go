package attach

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/harness/provider"
)

// Topics of the living and of other hosts are not those of the dead.
func TestDead(t *testing.T) {
	mine := Prefix(3)
	dead := mark + hostMark() + ".999999999.1.1."
	for topic, want := range map[string]bool{
		mine + "kbench-000001": false, dead + "kbench-000001": true,
		mark + "00000000.999999999.1.1.x": false, "kbench-000001": false, "orders": false, mark: false, mark + "a.b": false,
	} {
		if Dead(topic) != want {
			t.Errorf("%s: dead %t, want %t", topic, !want, want)
		}
		if DeadOf("999999999 1")(topic) != want || DeadOf("999999998 1")(topic) {
			t.Errorf("%s: it is not told whose it is", topic)
		}
	}
	if len(mine) > 100 || strings.ContainsAny(mine, " _/") {
		t.Errorf("prefix %q", mine)
	}
}

// A hook hears which node is meant; what it says is in the error of one that
// fails, and a node without one is left alone.
func TestHooks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "said")
	hooks := map[string]string{
		"kill-broker":      `echo "$KBENCH_FAULT $KBENCH_NODE $KBENCH_ADDR" >` + file,
		"pause-controller": "echo no such host >&2; exit 3",
		"start-broker":     "true",
	}
	n := NewNode(7, l.Addr().String(), func(name string) string { return hooks[name] }, "broker", "controller")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := n.Signal(ctx, provider.Kill); err != nil || n.Running() {
		t.Errorf("%v, running %t", err, n.Running())
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "kill 7 "+l.Addr().String()+"\n" {
		t.Errorf("the hook heard %q, %v", b, err)
	}
	short, end := context.WithTimeout(ctx, 100*time.Millisecond)
	if _, _, err := n.Wait(short); err == nil || !strings.Contains(err.Error(), "broker-7 still accepts connections at "+l.Addr().String()+" after the hook has ended") {
		t.Errorf("a node that listens: %v", err)
	}
	end()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, code, err := n.Wait(ctx); err != nil || code != 0 {
		t.Errorf("code %d, %v", code, err)
	}
	if err := n.Start(ctx); err != nil || !n.Running() {
		t.Errorf("%v, running %t", err, n.Running())
	}
	if _, err := n.Signal(ctx, provider.Pause); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("a hook that fails: %v", err)
	}
	if _, err := n.Signal(ctx, provider.Term); err == nil || !strings.Contains(err.Error(), "no hook") {
		t.Errorf("no hook: %v", err)
	}
}

func TestFindTellsWhatEachAnswered(t *testing.T) {
	_, err := Access{Bootstrap: []string{"127.0.0.1:1", "127.0.0.1:2"}}.Find(t.Context())
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "127.0.0.1:2") {
		t.Errorf("%v", err)
	}
}
