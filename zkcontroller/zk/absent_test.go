package zk

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// told keeps warnings and when they came.
type told struct {
	slog.Handler
	began time.Time
	after []time.Duration
	lines []string
}

func (h *told) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h *told) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	h.lines, h.after = append(h.lines, line), append(h.after, time.Since(h.began))
	return nil
}

// A ZooKeeper that is absent is told of soon, then at a slow pace, and the error
// in the end names it and the cure.
func TestAbsentZooKeeper(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for reason, dial := range map[string]func(string, string, time.Duration) (net.Conn, error){
		"connection refused": func(string, string, time.Duration) (net.Conn, error) { return nil, refused },
		"it grants no session": func(string, string, time.Duration) (net.Conn, error) {
			near, far := net.Pipe()
			return near, far.Close()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &told{began: time.Now()}
			_, err := Connect(t.Context(), Config{Servers: []string{"10.0.0.9:2181", "10.0.0.8:2181"}, Dial: dial, Logger: slog.New(h)})
			if err == nil || !strings.Contains(err.Error(), "no session with ZooKeeper at 10.0.0.9:2181,10.0.0.8:2181 within 18s: ") ||
				!strings.Contains(err.Error(), reason+"; see that it runs there, or name other servers") {
				t.Errorf("%s: %v", reason, err)
			}
			if want := []time.Duration{1500 * time.Millisecond, 6500 * time.Millisecond, 11500 * time.Millisecond, 16500 * time.Millisecond}; !slices.Equal(h.after, want) {
				t.Errorf("%s: told after %v, want %v", reason, h.after, want)
			}
			for _, line := range h.lines {
				for _, want := range []string{"cannot reach ZooKeeper, still trying servers=10.0.0.9:2181,10.0.0.8:2181", reason, "until=2000-01-01 00:00:18"} {
					if !strings.Contains(line, want) {
						t.Errorf("%q lacks %q", line, want)
					}
				}
			}
		})
	}
}

// Who gives up waiting is told that, and no cure.
func TestAbsentZooKeeperAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Connect(ctx, Config{Servers: []string{"a:2181"}, Dial: func(string, string, time.Duration) (net.Conn, error) { return nil, errors.New("none") }})
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "see that it runs") {
			t.Error(err)
		}
	})
}
