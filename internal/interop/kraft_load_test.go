package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// writer creates topics one after the other, through one broker after the
// other, whatever happens to the controllers.
type writer struct {
	k      *kraft
	prefix string
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	acked []string // topics that a broker said are there
	last  error
}

// writerPause is between two topics.
const writerPause = 40 * time.Millisecond

// write begins; stop ends it.
func (k *kraft) write(t *testing.T, prefix string) *writer {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{k: k, prefix: prefix, cancel: cancel, done: make(chan struct{})}
	at := slices.Clone(planeBrokers)
	go w.run(ctx, at)
	t.Cleanup(w.stop)
	return w
}

func (w *writer) stop() {
	w.cancel()
	<-w.done
}

func (w *writer) run(ctx context.Context, at []broker) {
	defer close(w.done)
	for n := 0; ctx.Err() == nil; {
		topic := fmt.Sprintf("%s-%06d", w.prefix, n)
		err := w.create(ctx, at[n%len(at)], topic)
		w.mu.Lock()
		w.last = err
		if err == nil {
			w.acked = append(w.acked, topic)
			n++
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(writerPause):
		}
	}
}

// create gives nil where the topic is there: an answer to an earlier try may
// have been lost.
func (w *writer) create(ctx context.Context, at broker, topic string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, one)
	reply, err := w.k.ask(ctx, at, req)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(reply.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	return nil
}

// awaitMore waits until some more topics are acknowledged.
func (w *writer) awaitMore(t *testing.T, more int) {
	t.Helper()
	w.mu.Lock()
	want := len(w.acked) + more
	w.mu.Unlock()
	eventually(t, fmt.Sprintf("%d more topics are created", more), func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.acked) < want {
			return fmt.Errorf("%d are missing: %w", want-len(w.acked), errors.Join(errors.New("the last answer"), w.last))
		}
		return nil
	})
}

// awaitKept stops the writer and waits until each broker has all topics that
// were acknowledged.
func (w *writer) awaitKept(t *testing.T, by []broker) {
	t.Helper()
	w.stop()
	for _, id := range by {
		eventually(t, fmt.Sprintf("broker %d has all %d topics that were acknowledged", id, len(w.acked)), func(ctx context.Context) error {
			reply, err := w.k.ask(ctx, id, kmsg.NewPtrMetadataRequest())
			if err != nil {
				return err
			}
			known := map[string]bool{}
			for _, topic := range reply.(*kmsg.MetadataResponse).Topics {
				if topic.Topic != nil {
					known[*topic.Topic] = true
				}
			}
			for _, topic := range w.acked {
				if !known[topic] {
					return fmt.Errorf("there is no %s", topic)
				}
			}
			return nil
		})
	}
	t.Logf("%d topics were acknowledged, and are there", len(w.acked))
}
