package quorumlog

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"kbench/internal/trace"
	"kbench/kafka"
)

// FileSuffix ends the names of stored logs in a run folder; before it stand the
// cell and the repeat.
const FileSuffix = ".quorum.gz"

// Voter is a voter of the quorum, and the directory of its log.
type Voter struct {
	ID  kafka.BrokerID
	Dir string
	// Stopped says that the voter does not run, or is cut off: it may keep at its
	// end what the others never took, until it hears of them.
	Stopped bool
}

// line is one JSON line of a stored file; the first has Voters and
// Stopped, those behind it Told, the last End, and behind all others stand Bytes
// bytes.
type line struct {
	Voters   []kafka.BrokerID `json:"voters,omitempty"`
	Stopped  []kafka.BrokerID `json:"stopped,omitempty"` // of the voters
	Told     *trace.Event     `json:"told,omitempty"`    // what a node traced
	Held     []kafka.BrokerID `json:"held,omitempty"`
	Snapshot string           `json:"snapshot,omitempty"` // the name of the file; "" for a batch
	Bytes    int              `json:"bytes,omitempty"`
	End      bool             `json:"end,omitempty"`
}

// Store writes the logs of the voters, which may run on, and of what nodes traced
// before that is judged by the logs.
func Store(w io.Writer, voters []Voter, traced []trace.Event) error {
	zw := gzip.NewWriter(w)
	buf := bufio.NewWriter(zw)
	enc := json.NewEncoder(buf)
	put := func(l line, raw []byte) error {
		l.Bytes = len(raw)
		err := enc.Encode(l)
		if err == nil {
			_, err = buf.Write(raw)
		}
		return err
	}
	head := line{}
	for _, v := range voters {
		head.Voters = append(head.Voters, v.ID)
		if v.Stopped {
			head.Stopped = append(head.Stopped, v.ID)
		}
	}
	err := put(head, nil)
	for i := range traced {
		if err == nil && slices.Contains(stored, traced[i].Kind) {
			err = put(line{Told: &traced[i]}, nil)
		}
	}
	if err == nil {
		err = storeSnapshots(voters, put)
	}
	if err == nil {
		err = storeBatches(voters, put)
	}
	if err == nil {
		err = put(line{End: true}, nil)
	}
	if err := errors.Join(err, buf.Flush(), zw.Close()); err != nil {
		return fmt.Errorf("store the logs of the quorum: %w", err)
	}
	return nil
}
