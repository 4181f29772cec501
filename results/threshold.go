package results

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Threshold is a bound that a run must keep, such as
//
//	kraft: recovery.controller.median < 4s
//	p99(propagation.last) < 50ms
//	zk partitions=10k: creation.rate.min >= 2000/s
//	controlled-shutdown.median < baseline + max(10%, 20ms)
//
// Without a target it holds for all of them, without a point for all points.
// The last form is relative to earlier runs and only a gate that knows them
// can judge it: with max it is missed by what is worse by more than the share
// and by more than the absolute amount, so that neither a percent of nothing
// nor a millisecond of a minute counts.
type Threshold struct {
	Text   string            // as written
	Target string            // empty for all
	Point  map[string]string // axis = value, as cells carry them
	Metric string            // metric.phase, in full
	Stat   Stat
	Op     string  // <, <=, > or >=
	Value  float64 // nanoseconds, per second or bytes, by the metric's unit; 0 where Slack is set
	Slack  *Slack  `json:",omitempty"` // of a threshold that is relative to a baseline
}

// ParseThreshold reads one threshold. The error says what is wrong and how to
// mend it.
func ParseThreshold(text string) (Threshold, error) {
	t := Threshold{Text: text}
	body := text
	if head, rest, ok := strings.Cut(text, ":"); ok {
		if err := t.selector(head); err != nil {
			return t, err
		}
		body = rest
	}
	left, right, err := t.cutOp(body)
	if err != nil {
		return t, err
	}
	name, stat, err := cutStat(left)
	if err != nil {
		return t, err
	}
	m, phase, err := FindMetric(name)
	if err != nil {
		return t, err
	}
	t.Metric = m.Name + "." + phase
	if t.Stat, err = ParseStat(stat); err != nil {
		return t, err
	}
	if t.Stat == StatN {
		if strings.HasPrefix(right, "baseline") {
			return t, errors.New("n has no baseline; write n >= 10")
		}
		t.Value, err = strconv.ParseFloat(right, 64)
		if err != nil || math.IsNaN(t.Value) || t.Value < 0 {
			return t, fmt.Errorf("%q is not a number of samples; write n >= 10", right)
		}
		return t, nil
	}
	if rest, ok := strings.CutPrefix(right, "baseline"); ok {
		t.Slack, err = parseSlack(rest, t.Op, m.Unit)
		return t, err
	}
	t.Value, err = parseBound(right, m.Unit)
	return t, err
}

// selector reads what stands before the colon: a target and axis=value terms.
func (t *Threshold) selector(head string) error {
	words := strings.FieldsFunc(head, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		return errors.New("nothing before the colon; write `kraft: recovery.controller.median < 4s`")
	}
	for _, w := range words {
		axis, value, ok := strings.Cut(w, "=")
		switch {
		case ok && axis != "" && value != "":
			if t.Point == nil {
				t.Point = make(map[string]string)
			}
			t.Point[axis] = value
		case ok:
			return fmt.Errorf("%q is no point of the sweep; write partitions=10k", w)
		case t.Target != "":
			return fmt.Errorf("two targets %q and %q before the colon; write one threshold for each", t.Target, w)
		default:
			t.Target = w
		}
	}
	return nil
}

func (t *Threshold) cutOp(body string) (left, right string, err error) {
	i := strings.IndexAny(body, "<>")
	if i < 0 {
		return "", "", errors.New("no comparison; write `kraft: recovery.controller.median < 4s`")
	}
	t.Op = body[i : i+1]
	right = body[i+1:]
	if strings.HasPrefix(right, "=") {
		t.Op, right = t.Op+"=", right[1:]
	}
	left, right = strings.TrimSpace(body[:i]), strings.TrimSpace(right)
	if left == "" || right == "" || strings.ContainsAny(right, "<>=") {
		return "", "", fmt.Errorf("%q is no comparison of a metric with a value; write `recovery.controller.median < 4s`", strings.TrimSpace(body))
	}
	return left, right, nil
}

// cutStat splits propagation.last.p99.9 or p99.9(propagation.last).
func cutStat(s string) (name, stat string, err error) {
	if name, stat, ok := cutCall(s); ok {
		return name, stat, nil
	}
	// A percentile may hold a dot itself.
	dot := strings.LastIndexByte(s, '.')
	if before := strings.LastIndexByte(s[:max(dot, 0)], '.'); before >= 0 {
		if _, ok := Stat(s[before+1:]).Percentile(); ok {
			dot = before
		}
	}
	if dot >= 0 {
		name, stat = s[:dot], s[dot+1:]
	}
	_, statErr := ParseStat(stat)
	if _, _, err := FindMetric(s); dot < 0 || err == nil && statErr != nil {
		return "", "", fmt.Errorf("%q names no statistic; write %s.median or median(%s)", s, s, s)
	}
	return name, stat, nil
}

// cutCall splits p99(propagation.last).
func cutCall(s string) (name, stat string, ok bool) {
	stat, rest, ok := strings.Cut(s, "(")
	if !ok || !strings.HasSuffix(rest, ")") {
		return "", "", false
	}
	return strings.TrimSpace(strings.TrimSuffix(rest, ")")), strings.TrimSpace(stat), true
}

func parseBound(text string, u Unit) (float64, error) {
	if u == Nanoseconds {
		d, err := time.ParseDuration(text)
		if _, numErr := strconv.ParseFloat(text, 64); numErr == nil {
			return 0, fmt.Errorf("%q has no unit; write %sms or %ss", text, text, text)
		}
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q is not a duration; write it as 500ms or 4s", text)
		}
		return float64(d), nil
	}
	if u == Bytes {
		return parseBytes(text)
	}
	if u == Number {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return 0, fmt.Errorf("%q is not a number; write it as 20", text)
		}
		return v, nil
	}
	number, ok := strings.CutSuffix(text, "/s")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%q is not a rate; write it as 2000/s", text)
	}
	return v, nil
}

// parseBytes reads 400B or 25MB.
func parseBytes(text string) (float64, error) {
	number, size := strings.TrimSuffix(text, "B"), 1.0
	for _, unit := range []struct {
		name string
		size float64
	}{{"G", 1e9}, {"M", 1e6}, {"K", 1e3}} {
		if cut, ok := strings.CutSuffix(number, unit.name); ok {
			number, size = cut, unit.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !strings.HasSuffix(text, "B") || err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%q is no size; write it as 400B or 25MB", text)
	}
	return v * size, nil
}

// Holds reports whether a value of the threshold's statistic keeps it. One
// that is relative is judged by At first.
func (t Threshold) Holds(v float64) bool {
	switch t.Op {
	case "<":
		return v < t.Value
	case "<=":
		return v <= t.Value
	case ">":
		return v > t.Value
	default:
		return v >= t.Value
	}
}
