package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/internal/quorumlog"
	"kbench/internal/zkhistory"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/results"
)

// zipped is a file of these lines.
func zipped(t *testing.T, lines ...string) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	for _, l := range lines {
		_, _ = fmt.Fprintln(zw, l)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// quorumFile is a kept log of one voter, in which a topic's partition gets this
// ISR.
func quorumFile(t *testing.T, isr ...kafka.BrokerID) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = fmt.Fprintln(zw, `{"voters":[1001]}`)
	voters := []metalog.VoterKey{{ID: 1001}}
	change := metalog.LeaderChange{Leader: 1001, Voters: voters, GrantingVoters: voters}.Record()
	topic := kafka.UUID{7}
	var records []metalog.Record
	for _, r := range []metadata.Record{
		&metadata.RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 1},
		&metadata.TopicRecord{Name: "t", TopicID: topic},
		&metadata.PartitionRecord{TopicID: topic, Replicas: []kafka.BrokerID{1, 2}, ISR: isr, Leader: 1},
	} {
		value, err := metadata.AppendRecord(nil, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, metalog.Record{Value: value})
	}
	for _, batch := range []metalog.Batch{{Epoch: 1, Control: true, Records: []metalog.Record{change}}, {BaseOffset: 1, Epoch: 1, Records: records}} {
		raw, err := batch.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(zw, "{\"held\":[1001],\"bytes\":%d}\n%s", len(raw), raw)
	}
	_, _ = fmt.Fprintln(zw, `{"end":true}`)
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a run kept of its metadata store is judged again: a fault that is in it is
// found, whatever the run said of itself, and so is that nothing is left of it.
func TestVerifyJudgesTheStore(t *testing.T) {
	quorum, znodes := "kraft.base.1"+quorumlog.FileSuffix, "kraft.base.1"+zkhistory.FileSuffix
	for name, c := range map[string]struct {
		name string
		file []byte
		want string
		ok   bool
	}{
		"sound":             {quorum, quorumFile(t, 1), "ok   kraft.base.1: quorum, looked at ", true},
		"planted":           {quorum, quorumFile(t, 2), "quorum, looked at 5: C3: t-0 goes from", false},
		"cut short":         {quorum, quorumFile(t, 1)[:120], "BAD  kraft.base.1: read the logs of the quorum", false},
		"nobody's a file":   {quorum, nil, "BAD  kraft.base.1: read the logs of the quorum", false},
		"an empty quorum":   {quorum, zipped(t, `{"voters":[1001]}`, `{"end":true}`), "quorum, looked at 0: it looked at nothing", false},
		"empty znodes":      {znodes, zipped(t, `{"rules":{}}`, `{"end":true}`), "znodes, looked at 0: it looked at nothing", false},
		"no file of znodes": {quorum, quorumFile(t, 1), "BAD  kraft.base: its check znodes was judged by a file kraft.base.*.znodes.jsonl.gz, which the run does not have", false},
	} {
		started := time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)
		out := t.TempDir()
		w, err := results.Create(out, "quorum", started)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.Dir(), c.name), c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		cell := results.Cell{ID: "kraft.base", Target: "kraft", Variant: "base", Partitions: 1, Verdict: results.Valid}
		if name == "no file of znodes" {
			cell.Checks = []results.Check{{Name: zkhistory.ResultName, OK: true, Looked: 5}, {Name: quorumlog.ResultName, OK: true, Looked: 5}}
		}
		if _, err := w.Commit(results.Manifest{Name: "quorum", Started: started, Ended: started, Cells: []results.Cell{cell}}); err != nil {
			t.Fatal(err)
		}
		r, err := results.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		err = verifyRun(&b, r)
		if !strings.Contains(b.String(), c.want) || strings.Contains(b.String(), "BAD  kraft") == c.ok {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}
