package history

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Accept is a known change: from its run on, nights are compared with that
// run and later ones alone.
type Accept struct {
	At     time.Time `json:"at"` // when it was accepted, in UTC
	Format int       `json:"kbenchHistory"`
	Kind   string    `json:"kind"`
	Run    string    `json:"run"`
	Digest string    `json:"digest"`
	RunAt  time.Time `json:"runAt"`            // the run's start
	Cell   string    `json:"cell,omitempty"`   // empty: every cell
	Metric string    `json:"metric,omitempty"` // metric or metric.phase; empty: every one
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
}

// AcceptNight accepts what changed with a night.
func AcceptNight(n *Night, cell, metric, reason, by string, now time.Time) Accept {
	return Accept{
		At: now.UTC().Round(0), Format: FormatVersion, Kind: kindAccept, Run: n.Run, Digest: n.Digest, RunAt: n.At,
		Cell: cell, Metric: metric, Reason: reason, By: by,
	}
}

// Covers reports whether the accept speaks of a cell's metric.phase.
func (a *Accept) Covers(cell, name string) bool {
	return (a.Cell == "" || a.Cell == cell) && (a.Metric == "" || a.Metric == name || strings.HasPrefix(name, a.Metric+"."))
}

// same reports whether b says the same, which happens after a merge.
func (a Accept) same(b Accept) bool {
	return compareAccepts(a, b) == 0 && a.Digest == b.Digest && a.Reason == b.Reason && a.By == b.By
}

func (a *Accept) check() error {
	switch {
	case a.Run == "":
		return errors.New("an accepted change without a run")
	case a.RunAt.IsZero():
		return fmt.Errorf("the accepted change of run %s has no \"runAt\"", a.Run)
	}
	return nil
}
