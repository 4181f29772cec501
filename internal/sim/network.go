package sim

import (
	"math/rand/v2"
	"time"
)

// network decides what becomes of a message.
type network struct {
	rng   *rand.Rand
	p     *profile
	n     int
	cut   []bool // from*n+to: nothing passes
	storm bool
	whole bool // the end of a run: no faults
	cov   *Coverage
}

func (w *network) blocked(from, to int) bool { return w.cut[from*w.n+to] }

// deliveries gives the delays after which copies of a message arrive: none if
// it is lost, two if it is duplicated.
func (w *network) deliveries(from, to int, out *[2]time.Duration) int {
	if w.whole {
		out[0] = w.p.delay
		return 1
	}
	loss := w.p.loss
	if w.storm {
		loss = w.p.storm
	}
	if w.blocked(from, to) || w.rng.Float64() < loss {
		w.cov.Lost++
		return 0
	}
	out[0] = w.delay()
	if w.rng.Float64() < w.p.dup {
		w.cov.Duplicated++
		out[1] = w.delay()
		return 2
	}
	return 1
}

// delay is random around the mean, and now and then so long that the message
// is overtaken by a whole election.
func (w *network) delay() time.Duration {
	d := w.p.delay/4 + time.Duration(w.rng.Int64N(int64(w.p.delay)*3/2+1))
	if w.rng.IntN(200) == 0 {
		d += time.Duration(w.rng.Int64N(int64(2 * w.p.fetchTimeout)))
	}
	return d
}

// partition cuts the nodes in two: in both directions, or in one only.
func (w *network) partition(left func(i int) bool) {
	oneWay := w.rng.IntN(4) == 0
	for from := range w.n {
		for to := range w.n {
			if left(from) && !left(to) || !oneWay && !left(from) && left(to) {
				w.cut[from*w.n+to] = true
			}
		}
	}
}

func (w *network) heal() { clear(w.cut) }
