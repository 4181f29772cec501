package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kbench/zkcontroller/zk"
)

// notificationAge is how long a notification stays (Kafka's changeExpirationMs):
// every broker that lives has read it long before.
const notificationAge = 15 * time.Minute

// notifications follows one queue of sequential znodes, each saying that
// something was written. Whoever reads them removes those that are old. It
// belongs to the goroutine that holds the session.
type notifications struct {
	path   string
	handle func(ctx context.Context, s *zk.Session, data []byte) error

	listed bool             // since the session began
	last   int64            // the highest number handled
	born   map[string]int64 // server's time in ms, by name
}

// begin forgets where it was: another session may have missed what was purged.
func (n *notifications) begin() { n.listed, n.last, n.born = false, -1, map[string]int64{} }

// catchUp arms the watch and handles what is new, in order. The first call of a
// session only remembers where the queue is: its owner loads everything after it.
func (n *notifications) catchUp(ctx context.Context, s *zk.Session, nowMs int64) error {
	r := s.Do(ctx, zk.Children(n.path))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return nil
	}
	if r.Err != nil {
		return fmt.Errorf("list %s: %w", n.path, r.Err)
	}
	names := slices.DeleteFunc(r.Children, func(name string) bool { _, ok := zk.SequenceOf(name); return !ok })
	slices.SortFunc(names, func(a, b string) int {
		x, _ := zk.SequenceOf(a)
		y, _ := zk.SequenceOf(b)
		return int(x - y)
	})
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, known := n.born[name]; return known })
	read := make([]zk.Result, len(fresh))
	err := s.Pipeline(ctx, len(fresh), func(i int) zk.Op { return zk.Get(n.path + "/" + fresh[i]) }, func(i int, r zk.Result) { read[i] = r })
	if err != nil {
		return fmt.Errorf("read %s: %w", n.path, err)
	}
	var failed error
	for i, name := range fresh {
		number, _ := zk.SequenceOf(name)
		if read[i].Err != nil { // purged meanwhile
			continue
		}
		n.born[name] = read[i].CtimeMs
		if n.listed && number > n.last {
			failed = errors.Join(failed, n.handle(ctx, s, read[i].Data))
		}
		n.last = max(n.last, number)
	}
	n.listed = true
	n.purge(ctx, s, names, nowMs)
	return failed
}

// purge removes what is old. Another broker may do the same at the same time.
func (n *notifications) purge(ctx context.Context, s *zk.Session, names []string, nowMs int64) {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	for name, born := range n.born {
		switch {
		case !there[name]:
			delete(n.born, name)
		case nowMs-born > notificationAge.Milliseconds():
			if r := s.Do(ctx, zk.Delete(n.path+"/"+name, zk.AnyVersion)); r.Err == nil || errors.Is(r.Err, zk.ErrNoNode) {
				delete(n.born, name)
			}
		}
	}
}
