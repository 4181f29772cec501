package chart

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wellFormed requires a chart to be a document on its own.
func wellFormed(t *testing.T, svg template.HTML) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		s    scale
		n    int
		want []float64
	}{
		{linear(0, 5e9, 0, 100), 5, []float64{0, 1e9, 2e9, 3e9, 4e9, 5e9}},
		{linear(0, 0, 0, 100), 2, []float64{0, 0.5, 1}},
		{logarithmic(1e3, 1e6, 0, 100), 5, []float64{1e3, 1e4, 1e5, 1e6}},
		{logarithmic(2e9, 2.2e9, 0, 100), 5, []float64{2e9, 3e9}},
	} {
		got := c.s.ticks(c.n)
		if len(got) != len(c.want) {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9*c.want[i] {
				t.Errorf("%+v: %v, want %v", c.s, got, c.want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(1e-300, 1e300).Draw(t, "lo")
		hi := lo * rapid.Float64Range(1, 1e6).Draw(t, "times")
		for _, s := range []scale{linear(0, hi, 0, 300), logarithmic(lo, hi, 300, 0)} {
			ticks := s.ticks(5)
			if len(ticks) > 11 {
				t.Fatalf("%d ticks", len(ticks))
			}
			for _, v := range ticks {
				if at := s.at(v); math.IsNaN(at) || at < -1 || at > 301 {
					t.Fatalf("the tick %v of %+v stands at %v", v, s, at)
				}
			}
		}
	})
}

func TestStackWidthsAreValues(t *testing.T) {
	svg := Stacks(Frame{ID: "x", Title: "<t>", Desc: "a & b", Width: 960}, []StackGroup{{Name: `"1k"`, Stacks: []Stack{
		{Name: "<zk>", Segments: []Segment{{0, "detect", 2e9, "2 s"}, {1, "elect", 3e6, "3 ms"}, {2, "load", 0, "0 ns"}, {3, "push", -1, "?"}}, Mark: &Mark{2.1e9, "2.1 s"}},
		{Side: 1, Name: "kraft", Segments: []Segment{{0, "detect", 1e9, "1 s"}, {1, "elect", math.NaN(), "n/a"}}},
	}}}, Duration)
	wellFormed(t, svg)
	found := regexp.MustCompile(`width="([\d.]+)" height="16" class="bar[^>]*data-value="([\d.e+]+)"`).FindAllStringSubmatch(string(svg), -1)
	if len(found) != 3 {
		t.Fatalf("%d bars, want the 3 of positive values: %s", len(found), svg)
	}
	perNs := 0.0
	for i, m := range found {
		width, _ := strconv.ParseFloat(m[1], 64)
		value, _ := strconv.ParseFloat(m[2], 64)
		if i == 0 {
			perNs = width / value
		} else if math.Abs(width-value*perNs) > 0.011 {
			t.Errorf("a bar of %v is %v wide, want %v", value, width, value*perNs)
		}
	}
}

// TestSharesAreWhole: what was acknowledged and what was missing fill the height
// together, an outage is not a gap, and a gap has neither.
func TestSharesAreWhole(t *testing.T) {
	svg := Shares{
		Side: 1, Seconds: 40, Faults: []Span{{From: 10, To: 30, Until: 20, Title: "stop of node <2>"}},
		Bars: []Share{{0, 10, 1, 0, "all"}, {10, 20, 0.25, 12, "<some>"}, {30, 40, 0, 33, "none"}},
	}.Draw(Frame{ID: "x", Title: "t", Desc: "d", Width: 960})
	wellFormed(t, svg)
	heights := func(class string) (out []float64) {
		for _, m := range regexp.MustCompile(`width="[\d.]+" height="([\d.]+)" class="`+class+` `).FindAllStringSubmatch(string(svg), -1) {
			h, _ := strconv.ParseFloat(m[1], 64)
			out = append(out, h)
		}
		return out
	}
	shares, missing := heights("share"), heights("missing")
	if !slices.Equal(shares, []float64{shareHeight, shareHeight / 4, 0}) || !slices.Equal(missing, []float64{shareHeight * 3 / 4, shareHeight}) {
		t.Errorf("shares %v, missing %v of %v in %s", shares, missing, shareHeight, svg)
	}
	for text, want := range map[string]int{`data-at="12" data-value="0.25"`: 1, "&lt;some&gt;": 1, ">none<": 1, ">all<": 0, "fault worst": 1, `class="fault"`: 1} {
		if got := strings.Count(string(svg), text); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
}

// TestChartsStandStrangeValues: no chart panics, hangs or writes what is no
// number.
func TestChartsStandStrangeValues(t *testing.T) {
	strange := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		draw := func() float64 { return strange.Draw(t, "v") }
		name := rapid.String().Draw(t, "name")
		for _, width := range []float64{350, 960} {
			f := Frame{ID: "x", Title: name, Desc: name, Width: width}
			for _, svg := range []template.HTML{
				Stacks(f, []StackGroup{{Name: name, Stacks: []Stack{{Name: name, Segments: []Segment{{0, name, draw(), name}}, Mark: &Mark{draw(), name}}}}}, Duration),
				Ranges(f, []RangeGroup{{Name: name, Ranges: []Range{{Name: name, Min: draw(), Median: draw(), Max: draw(), Lo: draw(), Hi: draw(), Points: []float64{draw()}, Text: name}}}}, Rate, rapid.Bool().Draw(t, "log")),
				Forest(f, []RatioGroup{{Name: name, Ratios: []Ratio{{Name: name, Ratio: draw(), Lo: draw(), Hi: draw(), Text: name}}}}, name, name),
				Panel(f, Axes{X: []Tick{{draw(), name}}, XName: name, Y: Duration}, []Line{{Name: name, Points: []XY{{draw(), draw(), draw(), draw(), []float64{draw()}}, {draw(), draw(), draw(), draw(), nil}}, Beyond: []XY{{X: draw(), Y: draw()}}}}),
				Timeline{
					Seconds: draw(), Faults: []Span{{draw(), draw(), name, name, draw()}}, Workloads: []Span{{From: draw(), To: draw(), Text: name}},
					Lanes: []Lane{{name, Bytes, []LaneLine{{name, 1, []float64{draw(), draw()}, []float64{draw(), draw()}, []float64{draw(), draw()}}}}},
				}.Draw(f),
				Shares{
					Seconds: draw(), Faults: []Span{{draw(), draw(), name, name, draw()}},
					Bars: []Share{{draw(), draw(), draw(), 0, name}, {draw(), draw(), draw(), 1, name}},
				}.Draw(f),
			} {
				if at := regexp.MustCompile(`="[^"]*(NaN|Inf)[^"]*"`).FindString(string(svg)); at != "" && !strings.Contains(at, "data-") && !strings.Contains(name, "NaN") && !strings.Contains(name, "Inf") {
					t.Fatalf("%s in a chart", at)
				}
				if len(svg) > 60_000 {
					t.Fatalf("a chart of few values has %d bytes", len(svg))
				}
			}
		}
	})
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		label Label
		v     float64
		want  string
	}{
		{Duration, 0, "0 ns"},
		{Duration, 1.5e9, "1.5 s"},
		{Duration, 5e8, "500 ms"},
		{Duration, 999_999, "1 ms"},
		{Rate, 12_000, "12k/s"},
		{Count, 1e6, "1M"},
		{Bytes, 1.5e6, "1.5 MB"},
		{Bytes, 0, "0 B"},
		{Plain, 0.30000000000000004, "0.3"},
	} {
		if got := c.label(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}
