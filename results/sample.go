package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sample is one measured value: a row of trials.csv.
type Sample struct {
	Cell     string
	Workload string
	Repeat   int     // from 1
	Trial    int     // from 1
	Metric   string  // metric.phase, as FindMetric knows it
	Value    float64 // in Unit
	Unit     Unit
	AtNs     int64  // intended time of what was measured, CLOCK_MONOTONIC
	Subject  string // the broker or controller that was stopped, where there is one
	Valid    bool   // Invalid samples are kept and shown, not counted
	Reason   string // why it is not valid
}

var sampleHeader = []string{"cell", "workload", "repeat", "trial", "metric", "value", "unit", "at_ns", "subject", "valid", "reason"}

// check refuses what could only be a mistake of the caller.
func (s Sample) check() error {
	m, phase, err := FindMetric(s.Metric)
	switch {
	case err != nil:
		return err
	case m.Name+"."+phase != s.Metric:
		return fmt.Errorf("metric %q has no phase", s.Metric)
	case s.Unit != m.Unit:
		return fmt.Errorf("%s is in %s, not in %q", s.Metric, m.Unit, s.Unit)
	case math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.Value < 0:
		return fmt.Errorf("%s of trial %d is %v", s.Metric, s.Trial, s.Value)
	case s.Cell == "":
		return errors.New("a sample without a cell")
	}
	return nil
}

func (s Sample) row() []string {
	return []string{
		cellText(s.Cell), cellText(s.Workload), strconv.Itoa(s.Repeat), strconv.Itoa(s.Trial), s.Metric,
		strconv.FormatFloat(s.Value, 'f', -1, 64), string(s.Unit), strconv.FormatInt(s.AtNs, 10),
		cellText(s.Subject), strconv.FormatBool(s.Valid), cellText(s.Reason),
	}
}

// cellText is text as a cell of the file holds it, where a carriage return stands
// at the end of a row alone; textOfCell reads it.
func cellText(s string) string { return GuardFormula(dropCR(s)) }

func textOfCell(s string) string { return unguard(dropCR(s)) }

func dropCR(s string) string { return strings.ReplaceAll(s, "\r", "") }

// sampleWriter writes trials.csv: RFC 4180, CRLF ends a row.
func sampleWriter(w io.Writer) (*csv.Writer, error) {
	cw := newSampleWriter(w)
	return cw, cw.Write(sampleHeader)
}

// newSampleWriter goes on with one that has its header.
func newSampleWriter(w io.Writer) *csv.Writer {
	cw := csv.NewWriter(w)
	cw.UseCRLF = true
	return cw
}

// readSamples reads trials.csv.
func readSamples(r io.Reader) ([]Sample, error) {
	cr := csv.NewReader(r)
	cr.FieldsPerRecord = len(sampleHeader)
	cr.ReuseRecord = true
	head, err := cr.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty, even its header is missing")
	case err != nil:
		return nil, err
	case !slices.Equal(head, sampleHeader):
		return nil, fmt.Errorf("the header is %q, not %q", strings.Join(head, ","), strings.Join(sampleHeader, ","))
	}
	var out []Sample
	for {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		s, err := parseSample(row)
		if err != nil {
			line, _ := cr.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, s)
	}
}

func parseSample(row []string) (Sample, error) {
	s := Sample{
		Cell: textOfCell(row[0]), Workload: textOfCell(row[1]), Metric: strings.Clone(row[4]), Unit: Unit(row[6]),
		Subject: textOfCell(row[8]), Reason: textOfCell(row[10]),
	}
	var errs [5]error
	s.Repeat, errs[0] = strconv.Atoi(row[2])
	s.Trial, errs[1] = strconv.Atoi(row[3])
	s.Value, errs[2] = strconv.ParseFloat(row[5], 64)
	s.AtNs, errs[3] = strconv.ParseInt(row[7], 10, 64)
	s.Valid, errs[4] = strconv.ParseBool(row[9])
	if err := errors.Join(errs[:]...); err != nil {
		return s, err
	}
	return s, s.check()
}
