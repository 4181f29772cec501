package results

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Slack is how far a value may be from its baseline on the worse side: by the
// larger of a share of the baseline and an absolute amount. What is worse by
// more than Slack is worse by more than both.
type Slack struct {
	Share  float64 // of the baseline, 0.1 is 10 %; 0 where none was given
	Amount float64 // in the metric's unit; 0 where none was given
}

// Relative reports whether the threshold needs a baseline.
func (t Threshold) Relative() bool { return t.Slack != nil }

// At gives the absolute threshold that a relative one is with this baseline,
// which is in the metric's unit. An absolute one stays as it is.
func (t Threshold) At(baseline float64) Threshold {
	if t.Slack == nil {
		return t
	}
	slack := max(t.Slack.Share*baseline, t.Slack.Amount)
	if strings.HasPrefix(t.Op, ">") {
		slack = -slack
	}
	t.Value, t.Slack = baseline+slack, nil
	return t
}

// parseSlack reads what follows baseline: + 10%, - 50/s or + max(10%, 20ms).
func parseSlack(text, op string, u Unit) (*Slack, error) {
	sign, example := "+", "baseline + max(10%, 20ms)"
	if strings.HasPrefix(op, ">") {
		sign, example = "-", "baseline - max(10%, 50/s)"
	}
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, sign)
	rest = strings.TrimSpace(rest)
	switch {
	case text == "":
		return nil, fmt.Errorf("the baseline alone is missed by every second run; write %s %s", op, example)
	case !ok || rest == "":
		return nil, fmt.Errorf("%q does not follow %s baseline; write %s %s", text, op, op, example)
	}
	terms := []string{rest}
	if inside, ok := strings.CutPrefix(rest, "max("); ok {
		inside, ok = strings.CutSuffix(inside, ")")
		if terms = strings.Split(inside, ","); !ok || len(terms) != 2 {
			return nil, fmt.Errorf("%q is no share and amount; write %s", rest, example)
		}
	}
	var s Slack
	for _, term := range terms {
		if err := s.add(strings.TrimSpace(term), u); err != nil {
			return nil, fmt.Errorf("%w; write %s", err, example)
		}
	}
	return &s, nil
}

// add reads one term of a slack, each kind once.
func (s *Slack) add(term string, u Unit) error {
	number, percent := strings.CutSuffix(term, "%")
	if !percent {
		v, err := parseBound(term, u)
		switch {
		case err != nil:
			return err
		case v == 0 || s.Amount != 0:
			return fmt.Errorf("%q is nothing, or a second amount", term)
		}
		s.Amount = v
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsNaN(v) || !(v > 0 && v <= 1000):
		return fmt.Errorf("%q is not over 0%% and at most 1000%%", term)
	case s.Share != 0:
		return errors.New("two shares")
	}
	s.Share = v / 100
	return nil
}
