package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"kbench/results"
	"kbench/results/paired"
)

// TestNarrowPage: on a phone reasons can be read, labels are whole, and no line
// runs through a name.
func TestNarrowPage(t *testing.T) {
	b := startBrowser(t)
	r := mustOpen(t, eventful(t, "controller-10-of-the-quorum"))
	rep := mustReport(t, r)
	for i := range rep.Excluded {
		rep.Excluded[i].Reason = "the generator slipped: 12 of 400 operations were sent more than 100 ms after they were due"
	}
	b.open(t, rep)
	b.do(t, chromedp.EmulateViewport(390, 800))
	if n := eval[float64](t, b, `Math.max(...[...document.querySelectorAll("#trials td.words")].map(c => c.getBoundingClientRect().height))`); n <= 0 || n > 90 {
		t.Errorf("a reason is %v px high", n)
	}
	if n := eval[float64](t, b, `Math.max(...[...document.querySelectorAll("#trials td.words")].map(c => c.getBoundingClientRect().right))`); n > 390 {
		t.Errorf("a reason ends at %v px of 390", n)
	}
	if wide := eval[[]string](t, b, `[...document.querySelectorAll("#timelines details[open] .narrow text")].filter(x => x.getBoundingClientRect().right > x.ownerSVGElement.getBoundingClientRect().right + 0.5).map(x => x.textContent)`); len(wide) > 0 {
		t.Errorf("labels are cut off at the right: %q", wide)
	}
	crossed := eval[[]string](t, b, `(() => {
		const bad = [];
		for (const name of document.querySelectorAll("svg .row")) {
			const unity = name.ownerSVGElement.querySelector(".unity"), n = name.getBoundingClientRect();
			if (!unity || !n.width) continue;
			const u = unity.getBoundingClientRect();
			const covered = name.previousElementSibling?.classList.contains("paper");
			if (n.left < u.right && n.right > u.left && !covered) bad.push(name.textContent);
		}
		return bad;
	})()`)
	if len(crossed) > 0 {
		t.Errorf("the line of no difference runs through %q", crossed)
	}
	b.do(t, chromedp.EmulateViewport(1000, 800))
	if gap := eval[float64](t, b, `Math.min(...[...document.querySelectorAll("td.num + td:not(.num)")].map(c => parseFloat(getComputedStyle(c).paddingLeft)))`); gap < 8 {
		t.Errorf("words begin %v px after a number", gap)
	}
}

// TestLanesShareOneAxis: what can be zoomed begins and ends at the same times
// in every lane, whenever the first value of each came.
func TestLanesShareOneAxis(t *testing.T) {
	rep := mustReport(t, mustOpen(t, eventful(t, "controller-10")))
	f, _ := rep.timelineFigure(rep.timelines[0], 0, 48)
	_, text, _ := strings.Cut(string(f.Data.JSON), ">")
	text, _, _ = strings.Cut(text, "</script>")
	var d laneData
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Lanes) == 0 {
		t.Fatal("no lanes")
	}
	end := round(rep.timelines[0].seconds(rep.timelines[0].toNs), 100)
	for _, l := range d.Lanes {
		if first, last := l.At[0], l.At[len(l.At)-1]; first != 0 || last != end {
			t.Errorf("%s runs from %v to %v s, want 0 to %v", l.Name, first, last, end)
		}
	}
}

// TestBadgeIsTheVerdict: over pairs that decide nothing stands no valid.
func TestBadgeIsTheVerdict(t *testing.T) {
	rep := mustReport(t, mustOpen(t, eventful(t, "controller-10")))
	rep.pairs = &paired.Analysis{Verdict: paired.Inconclusive}
	if got := rep.badges()[0]; got.Text != "inconclusive" || got.Class != "verdict-inconclusive" {
		t.Errorf("inconclusive pairs have the badge %+v", got)
	}
	rep.pairs.Verdict = paired.Faster
	if got := rep.badges()[0]; got.Text != "faster" || got.Class != "verdict-valid" {
		t.Errorf("pairs that decide have the badge %+v", got)
	}
	rep.Run.Verdict = results.Invalid
	if got := rep.badges()[0]; got.Text != "invalid" {
		t.Errorf("an invalid run has the badge %+v", got)
	}
}
