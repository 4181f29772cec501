package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"kbench/harness"
)

// interval is how often the terminal line is drawn at most.
const interval = 100 * time.Millisecond

// View prints progress. Its zero value is not usable; see New.
type View struct {
	out      io.Writer
	terminal bool
	width    func() int // columns, asked anew since windows change
	now      func() time.Time

	mu      sync.Mutex
	started time.Time
	drawn   time.Time
	shown   bool   // a line stands on the terminal
	last    string // the last plain line, not repeated
}

// New makes a view. terminal says whether out can rewrite a line; width is
// asked for its columns and may be nil.
func New(out io.Writer, terminal bool, width func() int) *View {
	if width == nil {
		width = func() int { return 80 }
	}
	return &View{out: out, terminal: terminal, width: width, now: time.Now, started: time.Now()}
}

// Line prints a line for good.
func (v *View) Line(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	_, _ = fmt.Fprintln(v.out, s)
}

// Update shows p.
func (v *View) Update(p harness.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.terminal {
		v.plain(p)
		return
	}
	now := v.now()
	if v.shown && now.Sub(v.drawn) < interval {
		return
	}
	v.drawn = now
	line := fmt.Sprintf("[%s] %s%s", clock(now.Sub(v.started)), Describe(p), eta(p, now.Sub(v.started)))
	if width := v.width(); width > 1 && len(line) >= width {
		line = line[:width-1]
	}
	_, _ = fmt.Fprintf(v.out, "\r\x1b[K%s", line)
	v.shown = true
}

// plain prints a line for each new phase or trial, not for each step of it.
func (v *View) plain(p harness.Progress) {
	p.Work.Done, p.Work.Total = 0, 0
	if p.Work.Trial > 0 {
		p.Work.Phase = ""
	}
	line := Describe(p)
	if line == v.last {
		return
	}
	v.last = line
	_, _ = fmt.Fprintf(v.out, "%s %s\n", clock(v.now().Sub(v.started)), line)
}

// Close takes the rewritten line off the terminal.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

func (v *View) clear() {
	if v.shown {
		_, _ = fmt.Fprint(v.out, "\r\x1b[K")
		v.shown = false
	}
}

// Describe says in words where a run is.
func Describe(p harness.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cell %d/%d %s %d partitions: ", p.Cell, p.Cells, p.Target, p.Partitions)
	w := p.Work
	if p.Phase != "workload" {
		b.WriteString(p.Phase)
		return b.String()
	}
	b.WriteString(w.Workload)
	if w.Trials > 0 && w.Trial > 0 {
		fmt.Fprintf(&b, " trial %d/%d", w.Trial, w.Trials)
	}
	if w.Phase != "" {
		fmt.Fprintf(&b, " %s", w.Phase)
	}
	if w.Total > 0 {
		fmt.Fprintf(&b, " %d/%d", w.Done, w.Total)
	}
	return b.String()
}

// eta guesses from the cells that are over how long the rest takes; the first
// cell gives no guess.
func eta(p harness.Progress, elapsed time.Duration) string {
	done := p.Cell - 1
	before := elapsed - p.Elapsed // what the finished cells took
	if done < 1 || before <= 0 {
		return ""
	}
	left := time.Duration(int64(before)/int64(done)*int64(p.Cells-done)) - p.Elapsed
	return fmt.Sprintf(", about %s left", clock(max(left, 0)))
}

func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
