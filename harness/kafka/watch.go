package kafka

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/internal/trace"
)

const (
	// controllerZnode is held by the active controller of ZooKeeper mode.
	controllerZnode = "/controller"
	// watchSession is that of the watch: long, since it holds nothing.
	watchSession = 30 * time.Second
	watchRetry   = 100 * time.Millisecond
	maxWatched   = 10_000 // events kept
)

// Watch tells when /controller went, and may have it go. Kafka does not log
// that it noticed; a watch of our own hears of it when the candidates do.
type Watch struct {
	conn *zk.Conn
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	events []trace.Event
}

// NewWatch watches from the servers, host:port, until Close.
func NewWatch(servers []string) (*Watch, error) {
	conn, _, err := zk.Connect(servers, watchSession, zk.WithLogger(silent{}))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", controllerZnode, err)
	}
	w := &Watch{conn: conn, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

func (w *Watch) run() {
	defer close(w.done)
	for {
		_, _, events, err := w.conn.ExistsW(controllerZnode)
		if err != nil { // the servers are away
			select {
			case <-time.After(watchRetry):
				continue
			case <-w.stop:
				return
			}
		}
		select {
		case e := <-events:
			if e.Type == zk.EventNodeDeleted {
				w.gone(trace.Now())
			}
		case <-w.stop:
			return
		}
	}
}

func (w *Watch) gone(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) < maxWatched {
		w.events = append(w.events, trace.Event{
			T: at, Node: "harness", Kind: trace.ControllerDetected, Detail: controllerZnode + " deleted",
		})
	}
}

// Events are the deletions so far.
func (w *Watch) Events() []trace.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]trace.Event(nil), w.events...)
}

// Depose deletes /controller, as an operator does who wants another election.
// That it is gone already is no error.
func (w *Watch) Depose() error {
	if err := w.conn.Delete(controllerZnode, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", controllerZnode, err)
	}
	return nil
}

// Close ends the watch.
func (w *Watch) Close() {
	close(w.stop)
	w.conn.Close()
	<-w.done
}

// silent drops what the client says of its connections.
type silent struct{}

func (silent) Printf(string, ...any) {}
