package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Interval is one line of a .hlog: the distribution of one phase over a span
// of time.
type Interval struct {
	Tag   string // the phase; no comma, space or line break
	Start time.Time
	End   time.Time
	Dist  *Distribution
}

// hlogNote is what the format has no room for. It is written as a comment
// before the interval, which other readers skip.
type hlogNote struct {
	Tag   string `json:"tag"`
	Unit  string `json:"unit"`
	Count int64  `json:"count"`
	Below int64  `json:"below"`
	Above int64  `json:"above"`
	Min   int64  `json:"min"` // exact, 0 where count is 0
	Max   int64  `json:"max"`
}

const hlogNotePrefix = "#kbench "

// writeHlog writes intervals in the HdrHistogram log format 1.3, values in
// nanoseconds, Interval_Max in milliseconds, times in seconds since the epoch.
func writeHlog(w io.Writer, intervals []Interval) error {
	lw := hdrhistogram.NewHistogramLogWriter(w)
	if err := lw.OutputLogFormatVersion(); err != nil {
		return err
	}
	if len(intervals) > 0 {
		if err := lw.OutputStartTime(intervals[0].Start.UnixMilli()); err != nil {
			return err
		}
	}
	if err := lw.OutputLegend(); err != nil {
		return err
	}
	for _, iv := range intervals {
		if err := writeInterval(w, lw, iv); err != nil {
			return fmt.Errorf("histogram %s: %w", iv.Tag, err)
		}
	}
	return nil
}

func writeInterval(w io.Writer, lw *hdrhistogram.HistogramLogWriter, iv Interval) error {
	if iv.Tag == "" || strings.ContainsAny(iv.Tag, ", \r\n") {
		return errors.New("a tag must be one word without commas")
	}
	if iv.Start.UnixMilli() < 0 || iv.End.Before(iv.Start) {
		return errors.New("an interval must start after 1970 and not end before it starts")
	}
	note := hlogNote{Tag: iv.Tag, Unit: string(Nanoseconds), Count: iv.Dist.Count(), Below: iv.Dist.below, Above: iv.Dist.above}
	if note.Count > 0 {
		note.Min, note.Max = iv.Dist.min, iv.Dist.max
	}
	b, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", hlogNotePrefix, b); err != nil {
		return err
	}
	h := iv.Dist.hist
	h.SetTag(iv.Tag)
	h.SetStartTimeMs(iv.Start.UnixMilli())
	h.SetEndTimeMs(iv.End.UnixMilli())
	return lw.OutputIntervalHistogram(h)
}

// readHlog hands to f, one by one, what writeHlog wrote, or another tool's log
// of nanoseconds, which has no notes: its exact extremes are then the
// histogram's own.
func readHlog(r io.Reader, f func(Interval) error) error {
	src, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	notes, lines, err := scanHlog(src)
	if err != nil {
		return err
	}
	lr := hdrhistogram.NewHistogramLogReader(bytes.NewReader(src))
	for n := range lines {
		h, err := lr.NextIntervalHistogram()
		if err != nil {
			return fmt.Errorf("histogram %d: %w", n+1, err)
		}
		if h == nil {
			return fmt.Errorf("%d of %d histograms can be read; is the file damaged?", n, lines)
		}
		iv, err := intervalOf(h, notes, n)
		if err == nil {
			err = f(iv)
		}
		if err != nil {
			return fmt.Errorf("histogram %d: %w", n+1, err)
		}
	}
	return nil
}

// readIntervals reads a whole log.
func readIntervals(r io.Reader) (out []Interval, err error) {
	err = readHlog(r, func(iv Interval) error {
		out = append(out, iv)
		return nil
	})
	return out, err
}

// scanHlog counts the interval lines and collects the notes by the index of
// the interval that they precede.
func scanHlog(src []byte) (notes map[int]hlogNote, lines int, err error) {
	notes = make(map[int]hlogNote)
	sc := bufio.NewScanner(bytes.NewReader(src))
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		line := sc.Text()
		switch text, isNote := strings.CutPrefix(line, hlogNotePrefix); {
		case isNote:
			var n hlogNote
			if err := json.Unmarshal([]byte(text), &n); err != nil {
				return nil, 0, fmt.Errorf("note before histogram %d: %w", lines+1, err)
			}
			notes[lines] = n
		case line == "", line[0] == '#', line[0] == '"':
		default:
			lines++
		}
	}
	return notes, lines, sc.Err()
}

func intervalOf(h *hdrhistogram.Histogram, notes map[int]hlogNote, i int) (Interval, error) {
	d := &Distribution{hist: h, min: math.MaxInt64, max: math.MinInt64}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != int64(HighestLatency) || h.SignificantFigures() != latencyDigits {
		// Another tool's: its buckets are not ours.
		d.hist = newHistogram()
		if dropped := d.hist.Merge(h); dropped != 0 {
			return Interval{}, fmt.Errorf("%d values lie outside the range of %v to %v", dropped, LowestLatency, HighestLatency)
		}
	}
	n, noted := notes[i]
	switch {
	case !noted:
		if h.TotalCount() > 0 {
			d.min, d.max = h.Min(), h.Max()
		}
	case n.Unit != string(Nanoseconds):
		return Interval{}, fmt.Errorf("values are in %q, not in ns", n.Unit)
	case n.Below < 0 || n.Above < 0 || n.Count != h.TotalCount()+n.Below+n.Above:
		return Interval{}, fmt.Errorf("%s holds %d values where its note says %d", n.Tag, h.TotalCount(), n.Count)
	default:
		d.below, d.above = n.Below, n.Above
		if n.Count > 0 {
			d.min, d.max = n.Min, n.Max
		}
	}
	return Interval{Tag: h.Tag(), Start: time.UnixMilli(h.StartTimeMs()), End: time.UnixMilli(h.EndTimeMs()), Dist: d}, nil
}
