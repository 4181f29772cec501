package live

import (
	"sync"
	"time"

	"kbench/harness"
)

// Plan is what is known of a run before it starts.
type Plan struct {
	Name string // of the spec
	// Total is the estimate for the whole run, and Cell that for one run of the
	// cell with this id. Without them the first cell gives no time left.
	Total time.Duration
	Cell  func(id string) time.Duration
}

// Result is how a run ended.
type Result struct {
	Verdict string // valid, invalid, inconclusive
	Report  string // path of the report, empty where none was written
}

// Snapshot is where a run is at one time.
type Snapshot struct {
	Name     string
	Started  bool // a cell has begun; Progress is empty before
	Progress harness.Progress
	Elapsed  time.Duration // since the board was made
	Left     time.Duration // until the end, where LeftKnown
	// LeftKnown says that plan or finished cells allow a guess.
	LeftKnown bool
	Result    *Result // nil while the run goes on
}

// Board holds what is known of a run. It is safe for concurrent use, and no
// call waits for anybody who looks.
type Board struct {
	plan  Plan
	now   func() time.Time
	began time.Time

	mu       sync.Mutex
	started  bool
	progress harness.Progress
	told     time.Time // when progress came
	pace     pace
	result   *Result
	log      itemLog
	heed     heeded
	onTrial  []func(harness.Progress)
	changed  chan struct{} // closed and made anew at each change
}

// NewBoard makes a board at the begin of a run.
func NewBoard(plan Plan) *Board { return newBoard(plan, time.Now) }

func newBoard(plan Plan, now func() time.Time) *Board {
	return &Board{plan: plan, now: now, began: now(), pace: newPace(plan), changed: make(chan struct{})}
}

// Update takes p.
func (b *Board) Update(p harness.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now().Sub(b.began)
	b.pace.follow(p, at)
	b.heed.follow(&b.log, p, at)
	b.progress, b.told, b.started = p, b.now(), true
	if p.Trial != nil {
		for _, f := range b.onTrial {
			f(p)
		}
	}
	b.notify()
}

// Line takes a line that people should read.
func (b *Board) Line(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log.add(Item{At: b.now().Sub(b.began), Kind: ItemSaid, Text: s})
	b.notify()
}

// Finish says that the run is over. Later updates change nothing that matters.
func (b *Board) Finish(r Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result = &r
	b.notify()
}

// notify wakes who waits. The caller holds mu.
func (b *Board) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed is closed at the next change.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Snapshot gives where the run is now.
func (b *Board) Snapshot() Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	s := Snapshot{Name: b.plan.Name, Started: b.started, Progress: b.progress, Elapsed: now.Sub(b.began), Result: b.result}
	if b.started && b.result == nil {
		s.Progress.Elapsed += now.Sub(b.told)
		s.Left, s.LeftKnown = b.pace.left(s.Progress)
	}
	return s
}

// Items gives what happened after the item with the number seq, at most limit
// of it, and how much of that was forgotten before it could be given.
func (b *Board) Items(seq int64, limit int) (items []Item, forgotten int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.after(seq, limit)
}

// hearTrials calls f for each trial that ends from now on, on a goroutine that
// measures: f must not block.
func (b *Board) hearTrials(f func(harness.Progress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onTrial = append(b.onTrial, f)
}
