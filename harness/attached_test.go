package harness

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"kbench/harness/attach"
	"kbench/results"
)

// Topics that a cluster does not let go, since it answers nothing, are told of with
// the command that removes them; also where the run was interrupted.
func TestTopicsThatStay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	run := newCellRun(t)
	run.cluster = &cluster{}
	run.provider = &attached{access: attach.Access{Bootstrap: []string{l.Addr().String()}}, prefix: attach.Prefix(1), found: true}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	run.left = run.provider.Close(short)
	run.judge(interrupted, nil)
	said := strings.Join(run.out.Reasons, "\n")
	for _, want := range []string{"interrupted", attach.Prefix(1), "no broker lists the topics", "`kbench clean --bootstrap " + l.Addr().String() + "`"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if run.out.Verdict != results.Invalid {
		t.Errorf("the cell is %s", run.out.Verdict)
	}
}
