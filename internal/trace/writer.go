package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// MaxEvents bounds one trace file: about 100 MB of lines.
const MaxEvents = 1_000_000

// Writer appends events to one file. Phase changes reach the kernel at once,
// so that a SIGKILL loses none of them; BrokerApplied lines are buffered up to
// 64 KiB. A nil Writer discards events.
type Writer struct {
	node string

	mu      sync.Mutex
	file    *os.File
	buf     *bufio.Writer
	written int
	dropped int64
	err     error
}

// Create opens path for appending, so that a restarted node goes on in the
// same file, and names the node in every event.
func Create(path, node string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open trace of %s: %w", node, err)
	}
	return &Writer{node: node, file: f, buf: bufio.NewWriterSize(f, 64<<10)}, nil
}

// Emit writes e, stamping it where it has no stamp. The first failure of the
// file is kept and returned by Close.
func (w *Writer) Emit(e Event) {
	if w == nil {
		return
	}
	if e.T == 0 {
		e.T = Now()
	}
	e.Node = w.node
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	if w.written >= MaxEvents {
		w.dropped++
		return
	}
	w.written++
	w.line(e)
	if e.Kind != BrokerApplied && w.err == nil {
		w.err = w.buf.Flush()
	}
}

func (w *Writer) line(e Event) {
	if w.err != nil {
		return
	}
	b, err := json.Marshal(e)
	if err == nil && len(b) >= w.buf.Available() {
		// Whole lines only reach the file: a node that is killed and goes on in
		// the same file must not continue a torn one.
		err = w.buf.Flush()
	}
	if err == nil {
		_, err = w.buf.Write(append(b, '\n'))
	}
	w.err = err
}

// Close writes what is buffered and, where events were dropped, how many. It
// may be called again.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	if w.dropped > 0 {
		w.line(Event{T: Now(), Node: w.node, Kind: Dropped, N: w.dropped})
	}
	err := errors.Join(w.err, w.buf.Flush(), w.file.Close())
	w.file = nil
	return err
}
