package quorumlog

import (
	"fmt"
	"io"

	"kbench/internal/checker"
)

// ResultName is that of the verdict among a run's checks.
const ResultName = "quorum"

// Judge reads what Store wrote, twice. A file that was cut short is an error.
//
// Of the logs together, beside what checker.Metadata says of their content:
//
//   - K1: an epoch has one leader, which a majority of its voters voted for
//   - K2: logs that hold one batch hold the same ones before it
//   - K3: no voter that runs differs from what a majority holds of the newest
//     epoch
//   - K7: voters change by one at a time, a leader begins with those of its log,
//     is one of them, and goes once it is none
//   - K8: an epoch begins with its LeaderChange record and has one; epochs go
//     forward
//   - K9: a snapshot is the replay of the log below it, and ends with a batch; a
//     log begins no later than the newest snapshot ends
//   - C7: what a leader was told of its ISR is in the log
//   - C10: producer ids are given once
//   - C11: a broker that is granted its shutdown leads nothing, and is fenced
//   - K12: every record replays
//
// K6, that a leader which no majority fetches from steps down in time, is no matter
// of the log: package checker judges it by what leaders trace.
func Judge(r io.ReadSeeker) (checker.Result, error) {
	res, err := judge(r)
	if err != nil {
		return res, fmt.Errorf("read the logs of the quorum: %w", err)
	}
	return res, nil
}

func judge(r io.ReadSeeker) (checker.Result, error) {
	res := checker.Result{Name: ResultName}
	logs := newLogs()
	head, err := read(r, logs.see)
	if err != nil {
		return res, err
	}
	chain := logs.judge(head)
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return res, err
	}
	content := newContent(chain)
	if _, err := read(r, content.see); err != nil {
		return res, err
	}
	content.end()
	res.Looked = logs.looked + content.rules.Looked
	for _, b := range append(logs.broken, content.broken()...) {
		res.Faults = append(res.Faults, b.Invariant+": "+b.Detail)
	}
	if res.Looked == 0 { // every quorum writes the record of its first leader
		res.Faults = append(res.Faults, "it looked at nothing: the logs hold no batch")
	}
	return res, nil
}
