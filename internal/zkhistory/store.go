package zkhistory

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kbench/internal/checker"
	"kbench/internal/trace"
)

// FileSuffix ends the names of stored histories in a run folder; before it stand
// the cell and the repeat.
const FileSuffix = ".znodes.jsonl.gz"

// Rules are what a history cannot tell of itself; they are stored with it.
type Rules struct {
	NoRecovery bool `json:"noRecovery,omitempty"` // inter-broker protocol before 3.2
}

// line is one JSON line of a stored history: one of the parts is set.
type line struct {
	Rules  *Rules       `json:"rules,omitempty"`
	Change *Change      `json:"c,omitempty"`
	Told   *trace.Event `json:"told,omitempty"` // what a broker traced; behind all changes
	End    bool         `json:"end,omitempty"`
}

// Store writes a history as compressed JSON lines and judges it meanwhile, and by
// it what brokers traced before of acknowledged ISRs.
func Store(w io.Writer, source Source, rules Rules, traced []trace.Event) (checker.Result, error) {
	zw := gzip.NewWriter(w)
	buf := bufio.NewWriter(zw)
	enc := json.NewEncoder(buf)
	j := newJudge(rules)
	err := enc.Encode(line{Rules: &rules})
	if err == nil {
		err = source(func(c Change) error {
			if err := j.see(c); err != nil {
				return err
			}
			return enc.Encode(line{Change: &c})
		})
	}
	for i := range traced {
		if err == nil && traced[i].Kind == trace.BrokerISRAcknowledged {
			err = errors.Join(j.hear(traced[i]), enc.Encode(line{Told: &traced[i]}))
		}
	}
	if err == nil {
		err = enc.Encode(line{End: true})
	}
	if err := errors.Join(err, buf.Flush(), zw.Close()); err != nil {
		return j.result(), fmt.Errorf("store the history of znodes: %w", err)
	}
	return j.result(), nil
}

// Judge reads what Store wrote. A history that was cut short is an error.
func Judge(r io.Reader) (checker.Result, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return checker.Result{}, fmt.Errorf("read the history of znodes: %w", err)
	}
	dec := json.NewDecoder(zr)
	j := newJudge(Rules{})
	for n := 1; ; n++ {
		var l line
		err := dec.Decode(&l)
		switch {
		case errors.Is(err, io.EOF):
			err = errors.New("it ends before its end line")
		case err != nil:
		case l.End:
			return j.result(), nil
		case l.Rules != nil:
			j = newJudge(*l.Rules)
		case l.Change != nil:
			err = j.see(*l.Change)
		case l.Told != nil:
			err = j.hear(*l.Told)
		default:
			err = errors.New("it says nothing this version knows")
		}
		if err != nil {
			return j.result(), fmt.Errorf("read the history of znodes, entry %d: %w", n, err)
		}
	}
}
