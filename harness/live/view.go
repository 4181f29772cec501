package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Terminal is a place where lines can be redrawn.
type Terminal struct {
	Size   func() (columns, rows int) // asked anew for each frame, since windows change
	Colour bool
}

// drawInterval is how often a frame is drawn at most, and idleInterval how
// often at least: clocks go on where nothing happens.
const (
	drawInterval = 100 * time.Millisecond
	idleInterval = time.Second
	closeTimeout = 2 * time.Second
	// linesAtOnce bounds the lines of one write.
	linesAtOnce = 256
	// maxWrites bounds the writes of one look: all that a board remembers.
	maxWrites = maxItems/linesAtOnce + 1
)

// View shows a board on a terminal or as plain lines.
type View struct {
	board    *Board
	terminal *Terminal // nil for plain lines
	screen   screen
	seen     int64 // number of the last item shown

	once    sync.Once
	stop    chan struct{}
	stopped chan struct{}
}

// NewView starts to show the board on out, redrawn where there is a terminal
// and as plain lines where it is nil. Close must be called.
func NewView(out io.Writer, terminal *Terminal, board *Board) *View {
	v := newView(out, terminal, board)
	go v.run()
	return v
}

func newView(out io.Writer, terminal *Terminal, board *Board) *View {
	return &View{
		board: board, terminal: terminal, screen: screen{out: out},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// Close prints what is left and takes the block off the terminal. It waits two
// seconds for a terminal that takes nothing, and may be called again.
func (v *View) Close() {
	v.once.Do(func() { close(v.stop) })
	select {
	case <-v.stopped:
	case <-time.After(closeTimeout):
	}
}

func (v *View) run() {
	defer close(v.stopped)
	for {
		changed := v.board.Changed()
		v.draw()
		select {
		case <-v.stop:
			v.print(v.flush(), nil)
			return
		case <-changed:
		case <-time.After(idleInterval):
		}
		select {
		case <-v.stop:
		case <-time.After(drawInterval):
		}
	}
}

// draw shows what is new.
func (v *View) draw() {
	lines := v.flush()
	if v.terminal == nil {
		v.print(lines, nil)
		return
	}
	columns, rows := v.terminal.Size()
	v.print(lines, frame(v.board.Snapshot(), columns, rows, v.terminal.Colour))
}

// flush prints all lines but the last few, which it gives.
func (v *View) flush() []string {
	lines, more := v.lines()
	for range maxWrites {
		if !more {
			break
		}
		v.print(lines, nil)
		lines, more = v.lines()
	}
	return lines
}

func (v *View) print(lines, block []string) {
	if v.terminal != nil {
		columns, _ := v.terminal.Size()
		v.screen.show(columns, lines, block)
		return
	}
	if len(lines) > 0 {
		_, _ = io.WriteString(v.screen.out, strings.Join(lines, "\n")+"\n")
	}
}

// lines are those to be printed for good, and whether there may be more. A
// terminal shows steps in its block.
func (v *View) lines() (out []string, more bool) {
	items, forgotten := v.board.Items(v.seen, linesAtOnce)
	if forgotten > 0 {
		out = append(out, fmt.Sprintf("(up to %d messages were not shown: they came too fast)", forgotten))
	}
	for _, i := range items {
		v.seen = i.Seq
		switch {
		case i.Kind == ItemSaid:
			for line := range strings.Lines(i.Text) {
				out = append(out, clean(line))
			}
		case i.Kind == ItemStep && v.terminal == nil,
			i.Kind == ItemTrial && !i.Valid:
			out = append(out, clock(i.At)+" "+clean(i.Text))
		}
	}
	return out, len(items) == linesAtOnce
}
