package harness

import (
	"slices"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/workloads"
)

// monitor follows one cell for who watches the run. It is safe for concurrent
// use, and a nil one drops everything. Updates are handed on in their order,
// so who gets them must not block.
type monitor struct {
	tell  func(Progress)
	began time.Time

	mu       sync.Mutex
	now      Progress
	headline headline
	summed   time.Time // when the headline was summed up last
}

// headlineInterval is how often a headline is summed up at most; it costs a
// walk over a histogram.
const headlineInterval = 100 * time.Millisecond

func newMonitor(start Progress, tell func(Progress)) *monitor {
	return &monitor{tell: tell, began: time.Now(), now: start}
}

// update changes the state and tells of it. trial is the trial that ended, nil
// where none did.
func (m *monitor) update(trial *workloads.Trial, change func(*Progress)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.now)
	now := time.Now()
	if trial != nil || now.Sub(m.summed) >= headlineInterval {
		m.now.Headline, m.summed = m.headline.sum(), now
	}
	p := m.now
	p.Elapsed = now.Sub(m.began)
	p.Faults = slices.Clone(p.Faults)
	p.Trial = trial
	m.tell(p)
}

// phase begins a phase of the cell.
func (m *monitor) phase(name string) {
	m.update(nil, func(p *Progress) { p.Phase, p.Work = name, workloads.Progress{} })
}

// workload begins a workload, whose headline has no values yet.
func (m *monitor) workload(kind string) {
	m.update(nil, func(p *Progress) {
		p.Phase, p.Work = kind, workloads.Progress{}
		m.headline = newHeadline(kind)
		p.Headline = m.headline.sum()
	})
}

// work is a step of the workload under way.
func (m *monitor) work(w workloads.Progress) {
	m.update(nil, func(p *Progress) { p.Phase, p.Work = "workload", w })
}

// controller is the active controller from now on.
func (m *monitor) controller(c Controller) {
	m.update(nil, func(p *Progress) { p.Controller = c })
}

// known gives the active controller that was told last.
func (m *monitor) known() Controller {
	if m == nil {
		return Controller{Epoch: -1}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Controller
}

// fault is one that was made, or undone.
func (m *monitor) fault(node kafka.BrokerID, f workloads.Fault) {
	m.update(nil, func(p *Progress) {
		p.Faults = slices.DeleteFunc(p.Faults, func(a ActiveFault) bool { return a.Node == node })
		if f.Undo() == "" {
			return
		}
		p.Faults = append(p.Faults, ActiveFault{Node: node, Fault: f, Since: time.Now()})
		if node == p.Controller.ID {
			p.Controller = Controller{Epoch: -1}
		}
	})
}

// value is one that comes many to a trial. It tells nobody by itself.
func (m *monitor) value(metric string, v float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.headline.add(metric, v)
}

// trial is a trial that is over.
func (m *monitor) trial(t workloads.Trial) {
	m.update(&t, func(p *Progress) {
		if !t.Valid {
			p.Invalid++
			return
		}
		p.Valid++
		for _, v := range t.Values {
			m.headline.add(v.Metric+"."+v.Phase, v.V)
		}
	})
}
