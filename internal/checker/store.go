package checker

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kbench/kafka"
)

// FileSuffix ends the names of stored histories in a run folder; before it
// stand the cell and the repeat.
const FileSuffix = ".history.jsonl.gz"

// line is one JSON line of a stored history: one field is set, but at the end.
type line struct {
	Op       *Operation   `json:"op,omitempty"`
	Seen     *Observation `json:"seen,omitempty"`
	Election *Election    `json:"election,omitempty"`
	Epoch    *EpochSeen   `json:"epoch,omitempty"`
	Fence    *Fence       `json:"fence,omitempty"`
	LedAlone *LedAlone    `json:"ledAlone,omitempty"`
	View     *viewLine    `json:"view,omitempty"`
	Topic    *topicLine   `json:"topic,omitempty"`
	ID       string       `json:"id,omitempty"` // of the operation's, observation's or topic's topic
	End      bool         `json:"end,omitempty"`

	// With End.
	Unkept      int64 `json:"unkept,omitempty"`
	Interrupted bool  `json:"interrupted,omitempty"`
}

// viewLine opens a broker's view; topic lines up to the next view are its.
type viewLine struct {
	Broker kafka.BrokerID `json:"broker"`
}

type topicLine struct {
	Name       string      `json:"name"`
	Partitions []Partition `json:"partitions"`
	Configs    []Config    `json:"configs,omitempty"`
}

// Write stores a history as compressed JSON lines.
func Write(w io.Writer, h History) error {
	zw := gzip.NewWriter(w)
	buf := bufio.NewWriter(zw)
	enc := json.NewEncoder(buf)
	if err := h.lines(func(l line) error { return enc.Encode(l) }); err != nil {
		return fmt.Errorf("store history: %w", err)
	}
	return errors.Join(buf.Flush(), zw.Close())
}

// lines yields the history in the order in which it is stored.
func (h History) lines(yield func(line) error) error {
	for i := range h.Operations {
		if err := yield(line{Op: &h.Operations[i], ID: idText(h.Operations[i].ID)}); err != nil {
			return err
		}
	}
	for i := range h.Observations {
		if err := yield(line{Seen: &h.Observations[i], ID: idText(h.Observations[i].TopicID)}); err != nil {
			return err
		}
	}
	for i := range h.Elections {
		if err := yield(line{Election: &h.Elections[i]}); err != nil {
			return err
		}
	}
	for i := range h.Epochs {
		if err := yield(line{Epoch: &h.Epochs[i]}); err != nil {
			return err
		}
	}
	for i := range h.Fences {
		if err := yield(line{Fence: &h.Fences[i]}); err != nil {
			return err
		}
	}
	for i := range h.LedAlone {
		if err := yield(line{LedAlone: &h.LedAlone[i]}); err != nil {
			return err
		}
	}
	for _, v := range h.Views {
		if err := yield(line{View: &viewLine{v.Broker}}); err != nil {
			return err
		}
		for _, t := range v.Topics {
			if err := yield(line{Topic: &topicLine{t.Name, t.Partitions, t.Configs}, ID: idText(t.ID)}); err != nil {
				return err
			}
		}
	}
	return yield(line{End: true, Unkept: h.Unkept, Interrupted: h.Interrupted})
}

func idText(id kafka.UUID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// Read reads what Write stored. A history that was cut short is an error.
func Read(r io.Reader) (History, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return History{}, fmt.Errorf("read history: %w", err)
	}
	var h History
	dec := json.NewDecoder(zr)
	for n := 1; ; n++ {
		var l line
		if err := dec.Decode(&l); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it ends before its end line")
			}
			return History{}, fmt.Errorf("read history, entry %d: %w", n, err)
		}
		if l.End {
			h.Unkept, h.Interrupted = l.Unkept, l.Interrupted
			// The checksum stands behind the last line.
			if err := dec.Decode(&l); !errors.Is(err, io.EOF) {
				return History{}, fmt.Errorf("read history: after its end: %w", cmp.Or(err, errors.New("more lines")))
			}
			return h, nil
		}
		if err := h.add(l); err != nil {
			return History{}, fmt.Errorf("read history, entry %d: %w", n, err)
		}
	}
}

func (h *History) add(l line) error {
	var id kafka.UUID
	if l.ID != "" {
		var err error
		if id, err = kafka.ParseUUID(l.ID); err != nil {
			return err
		}
	}
	switch {
	case l.Op != nil:
		l.Op.ID = id
		h.Operations = append(h.Operations, *l.Op)
	case l.Seen != nil:
		l.Seen.TopicID = id
		h.Observations = append(h.Observations, *l.Seen)
	case l.Election != nil:
		h.Elections = append(h.Elections, *l.Election)
	case l.Epoch != nil:
		h.Epochs = append(h.Epochs, *l.Epoch)
	case l.Fence != nil:
		h.Fences = append(h.Fences, *l.Fence)
	case l.LedAlone != nil:
		h.LedAlone = append(h.LedAlone, *l.LedAlone)
	case l.View != nil:
		h.Views = append(h.Views, View{Broker: l.View.Broker})
	case l.Topic != nil && len(h.Views) > 0:
		v := &h.Views[len(h.Views)-1]
		v.Topics = append(v.Topics, Topic{Name: l.Topic.Name, ID: id, Partitions: l.Topic.Partitions, Configs: l.Topic.Configs})
	default:
		return errors.New("it says nothing this version knows")
	}
	return nil
}
