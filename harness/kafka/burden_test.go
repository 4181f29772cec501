package kafka

import (
	"strings"
	"testing"
)

func TestBurden(t *testing.T) {
	for _, c := range []struct {
		replicas int
		limits   Limits
		says     string // "" where it fits
	}{
		{18_000, Limits{Files: 20_000, Maps: 65_530}, ""},
		{20_000, Limits{Files: 20_000, Maps: 65_530}, "20140 open files, and a process may have 20000"},
		{33_000, Limits{Files: 1 << 20, Maps: 65_530}, "66350 memory maps, and a process may have 65530"},
		{1 << 20, Limits{}, ""}, // not known
	} {
		err := BurdenOf(c.replicas).Within(c.limits)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d replicas within %+v: %v", c.replicas, c.limits, err)
		}
	}
	if l := SystemLimits(); l.Files == 0 || l.Maps == 0 {
		t.Errorf("the system tells no limits: %+v", l)
	}
}
