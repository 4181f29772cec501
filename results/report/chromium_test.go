package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"kbench/results"
)

// browserPath finds a Chromium. The tests skip without one, unless
// KBENCH_REQUIRE_CHROMIUM is set.
func browserPath(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: drives a browser; left out with -short")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("KBENCH_REQUIRE_CHROMIUM") != "" {
		t.Fatal("no Chromium: install the package chromium")
	}
	t.Skip("SKIPPED: no Chromium is installed; apt-get install chromium")
	return ""
}

// browser is one headless Chromium with what it complained of.
type browser struct {
	ctx context.Context

	page string // that is open

	mu       sync.Mutex
	faults   []string
	requests []string
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(browserPath(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("force-device-scale-factor", "1"),
	)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 8*time.Minute)
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelTab := chromedp.NewContext(ctx)
	b := &browser{ctx: ctx}
	t.Cleanup(func() {
		b.quiet(t)
		_ = chromedp.Cancel(ctx)
		cancelTab()
		cancelAllocator()
		cancel()
	})
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, ev.Request.URL)
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, fmt.Sprint(ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			if ev.Type != "log" && ev.Type != "info" {
				b.faults = append(b.faults, fmt.Sprintf("console.%s: %s", ev.Type, ev.Args[0].Value))
			}
		case *log.EventEntryAdded:
			b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
		}
	})
	if err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	call(t, b, network.Enable, network.EnableParams{})
	call(t, b, log.Enable, cdp.Empty{})
	b.do(t, chromedp.EmulateViewport(1200, 900))
	return b
}

func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](t *testing.T, b *browser, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

// media has the page shown as on a medium and in a scheme of colours; empty
// means as usual.
func (b *browser) media(t *testing.T, medium, scheme string) {
	t.Helper()
	p := emulation.SetEmulatedMediaParams{Media: medium}
	if scheme != "" {
		p.Features = []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	}
	call(t, b, emulation.SetEmulatedMedia, p)
}

// eval runs an expression in the page and reads its value.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// open writes a report's page into a file and opens it.
func (b *browser) open(t *testing.T, rep *Report) {
	t.Helper()
	h, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, h, 0o644); err != nil {
		t.Fatal(err)
	}
	b.quiet(t)
	b.page = (&url.URL{Scheme: "file", Path: path}).String()
	b.do(t, chromedp.Navigate(b.page), chromedp.WaitReady(chromedp.CSS("main")))
}

// quiet requires that nothing went wrong in the page that is open and that it
// asked for nothing but itself.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		t.Errorf("the page complains: %s", f)
	}
	for _, r := range b.requests {
		if r != b.page && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asks for %s", r)
		}
	}
	b.faults, b.requests = nil, nil
}

// realRun is the run whose figures the README shows.
func realRun(t *testing.T) *Report {
	t.Helper()
	folders, err := filepath.Glob("../testdata/readme/*/manifest.json")
	if err != nil || len(folders) != 1 {
		t.Fatalf("%d run folders, %v; want 1", len(folders), err)
	}
	return mustReport(t, mustOpen(t, filepath.Dir(folders[0])))
}

// TestBarsAreTheFigures: what is drawn is what report.json says, and the bars
// are as long as they say, for eyes too.
func TestBarsAreTheFigures(t *testing.T) {
	b := startBrowser(t)
	for name, rep := range map[string]*Report{"real": realRun(t), "simulated": mustReport(t, mustOpen(t, comparison(t)))} {
		b.open(t, rep)
		var figures struct{ Figures []results.Figure }
		if err := json.Unmarshal(mustJSON(t, rep), &figures); err != nil {
			t.Fatal(err)
		}
		type drawn struct {
			Side, Phase     string
			Value, Rendered float64
		}
		bars := eval[[]drawn](t, b, `[...document.querySelectorAll("#phases .wide rect.bar")].map(r => ({
			Side: r.dataset.side, Phase: r.dataset.phase, Value: +r.dataset.value, Rendered: r.getBoundingClientRect().width}))`)
		want := map[string]int{}
		for _, f := range figures.Figures {
			if f.Metric == "recovery.controller" && slices.Contains(stacked, f.Phase) && f.N > 0 && f.Median > 0 {
				want[fmt.Sprint(rep.side(f.Cell), f.Phase, f.Median)]++
			}
		}
		if len(bars) == 0 || len(bars) != len(want) {
			t.Errorf("%s: %d bars are drawn of %d figures", name, len(bars), len(want))
		}
		longest := slices.MaxFunc(bars, func(a, b drawn) int { return cmp.Compare(a.Value, b.Value) })
		scale := longest.Rendered / longest.Value
		for _, bar := range bars {
			if want[fmt.Sprint(bar.Side, bar.Phase, bar.Value)] == 0 {
				t.Errorf("%s: a bar of %s %s %v is no figure of report.json", name, bar.Side, bar.Phase, bar.Value)
			}
			if off := math.Abs(bar.Rendered - bar.Value*scale); off > 1.05 { // the outline may count
				t.Errorf("%s: the bar of %s %s is %v px long, %v would be in proportion", name, bar.Side, bar.Phase, bar.Rendered, bar.Value*scale)
			}
		}
		points := eval[[]float64](t, b, `[...document.querySelectorAll("#scale g[data-value]")].map(g => +g.dataset.value)`)
		medians := map[float64]bool{}
		for _, f := range figures.Figures {
			medians[f.Median] = true
		}
		for _, v := range points {
			if !medians[v] {
				t.Errorf("%s: a point at %v is no median of report.json", name, v)
			}
		}
		if len(points) < 20 {
			t.Errorf("%s: only %d points are drawn along the sweep", name, len(points))
		}
		ratios := eval[[]float64](t, b, `[...document.querySelectorAll("#headline .wide g[data-value]")].map(g => +g.dataset.value)`)
		for _, v := range ratios {
			if !slices.ContainsFunc(rep.Comparisons, func(c Comparison) bool { return c.Ratio != nil && *c.Ratio == v }) {
				t.Errorf("%s: a ratio of %v is none of report.json's", name, v)
			}
		}
		if charts, unnamed := eval[int](t, b, `document.querySelectorAll("svg.chart").length`), eval[int](t, b, `[...document.querySelectorAll("svg.chart")].filter(s =>
			s.getAttribute("role") !== "img" || s.getAttribute("aria-labelledby").split(" ").some(id => !document.getElementById(id).textContent)).length`); unnamed > 0 || charts < 10 {
			t.Errorf("%s: %d of %d charts have no name or description", name, unnamed, charts)
		}
		if n := eval[int](t, b, `[...document.querySelectorAll("figure")].filter(f => f.querySelector("svg.chart") && !f.querySelector("details.data table tbody tr")).length`); n > 0 {
			t.Errorf("%s: %d charts have no table of their data", name, n)
		}
		if twice := eval[int](t, b, `(() => { const ids = [...document.querySelectorAll("[id]")].map(e => e.id); return ids.length - new Set(ids).size })()`); twice > 0 {
			t.Errorf("%s: %d ids are used twice", name, twice)
		}
	}
}

// TestNamesStayText in the page as a browser reads it.
func TestNamesStayText(t *testing.T) {
	b := startBrowser(t)
	for _, name := range []string{
		`<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">`, `"><svg onload="window.hacked=3">`, `' onmouseover='window.hacked=4`,
		`</title></style></script><b class="evil">`, `]]>--><b class="evil">&lt;&amp;`, `=1+1 {{.}} ${7*7} %s`, "日本語 \u202eright-to-left \u0000 a/b\\c\u2028end",
	} {
		rep := mustReport(t, mustOpen(t, eventful(t, name)))
		b.open(t, rep)
		if eval[bool](t, b, `"hacked" in window || document.querySelector(".evil, img, main [onload], main [onerror], main [onmouseover]") !== null`) {
			t.Errorf("%q is markup", name)
		}
		if name = strings.ReplaceAll(name, "\u0000", "\ufffd"); !strings.HasPrefix(eval[string](t, b, `document.title`), strings.Fields(name)[0]) {
			t.Errorf("%q is not the title", name)
		}
		if got := eval[string](t, b, `document.querySelector("h1").textContent`); got != name {
			t.Errorf("the heading is %q, want %q", got, name)
		}
		if eval[bool](t, b, `document.documentElement.scrollWidth > innerWidth`) {
			t.Errorf("%q makes the page scroll sideways", name)
		}
	}
}

// TestKeyboard: every control is reached by the tab key and shows that it has
// the focus.
func TestKeyboard(t *testing.T) {
	b := startBrowser(t)
	b.open(t, realRun(t))
	seen := map[string]bool{}
	for i := range 60 {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		at := eval[map[string]any](t, b, `(() => { const e = document.activeElement, s = getComputedStyle(e);
			return {what: e.className === "skip" ? "skip" : e.id || e.tagName.toLowerCase(), outline: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2, seen: e.getBoundingClientRect().left >= 0} })()`)
		if at["outline"] != true || at["seen"] != true {
			t.Errorf("after %d tabs %v has the focus and does not show it", i+1, at["what"])
		}
		if what := at["what"].(string); i == 0 && what != "skip" {
			t.Errorf("the first stop is %s, not the link past the navigation", what)
		} else if seen[what] = true; seen["button"] && seen["summary"] && seen["theme"] {
			break
		}
	}
	for _, what := range []string{"skip", "theme", "a", "summary", "button"} {
		if !seen[what] {
			t.Errorf("60 tabs reach no %s, only %v", what, seen)
		}
	}
	for _, want := range []string{"light", "dark", ""} {
		b.do(t, chromedp.Focus(chromedp.CSS("#theme")), chromedp.KeyEvent(kb.Enter))
		if got := eval[string](t, b, `document.documentElement.dataset.theme || ""`); got != want {
			t.Errorf("the switch of colours gives %q, want %q", got, want)
		}
	}
	b.do(t, chromedp.Focus(chromedp.CSS("details.data summary")), chromedp.KeyEvent(" "))
	if !eval[bool](t, b, `document.querySelector("details.data").open`) {
		t.Error("a table of data does not open by the keyboard")
	}
	levels := eval[[]int](t, b, `[...document.querySelectorAll("h1,h2,h3,h4")].map(h => +h.tagName[1])`)
	for i := 1; i < len(levels); i++ {
		if levels[i] > levels[i-1]+1 {
			t.Errorf("heading %d of the page skips a level: %v", i+1, levels)
			break
		}
	}
}

// TestZoom: the interactive view draws over the static one and redraws in
// other colours.
func TestZoom(t *testing.T) {
	b := startBrowser(t)
	b.open(t, mustReport(t, mustOpen(t, eventful(t, "zk"))))
	b.do(t, chromedp.Click(chromedp.CSS(".live button")), chromedp.WaitVisible(chromedp.CSS(".live canvas")))
	if n := eval[int](t, b, `document.querySelectorAll(".live .uplot").length`); n != 3 {
		t.Errorf("%d interactive charts, want CPU, memory and heap", n)
	}
	b.do(t, chromedp.Click(chromedp.CSS("#theme")))
	b.do(t, chromedp.Click(chromedp.CSS(".live button")))
	if n := eval[int](t, b, `document.querySelectorAll(".live .uplot").length`); n != 0 {
		t.Errorf("%d interactive charts are left", n)
	}
	epochs := eval[string](t, b, `[...document.querySelectorAll(".timeline .wide .on-span, #timelines .wide .on-span")].map(e => e.textContent).join(";")`)
	for _, want := range []string{"epoch 1 (1001)", "epoch 2 (1002)", "controller-failover (kill)"} {
		if !strings.Contains(epochs, want) {
			t.Errorf("the timeline says %q, which lacks %q", epochs, want)
		}
	}
}

// TestMedia: dark colours, paper, a phone, and no scripts.
func TestMedia(t *testing.T) {
	b := startBrowser(t)
	rep := realRun(t)
	b.open(t, rep)
	background := `getComputedStyle(document.body).backgroundColor`
	b.media(t, "", "light")
	light := eval[string](t, b, background)
	b.media(t, "", "dark")
	if dark := eval[string](t, b, background); dark == light {
		t.Errorf("dark and light are both %s", dark)
	}
	b.media(t, "print", "dark")
	b.do(t, chromedp.EmulateViewport(720, 1000))
	if paper := eval[string](t, b, background); paper != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", paper)
	}
	if over := eval[string](t, b, overflow); over != "" {
		t.Errorf("on paper something is wider than the page: %s", over)
	}
	if eval[int](t, b, `[...document.querySelectorAll("details table")].filter(e => e.getBoundingClientRect().height < 10).length`) > 0 {
		t.Error("on paper tables are left closed")
	}
	b.media(t, "", "")
	b.do(t, chromedp.EmulateViewport(390, 844))
	if w := eval[int](t, b, `document.documentElement.scrollWidth`); w > 390 {
		t.Errorf("on a phone the page is %d px wide: %s", w, eval[string](t, b, overflow))
	}
	if px := eval[float64](t, b, `Math.min(...[...document.querySelectorAll("main svg.chart text")].filter(e => e.getBoundingClientRect().width > 0).map(e =>
		parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width))`); px < 9.5 {
		t.Errorf("on a phone a chart's text is %.1f px high", px)
	}
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(t, chromedp.EmulateViewport(1200, 900), chromedp.Reload())
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	if height := eval[float64](t, b, `document.querySelector("#phases .wide svg.chart").getBoundingClientRect().height`); height < 50 {
		t.Errorf("without scripts the phases are %v px high", height)
	}
}

// overflow names what reaches over the right edge of the page.
const overflow = `[...document.querySelectorAll("main *, header *")].filter(e => !e.closest(".scroll, pre, nav") && e.getBoundingClientRect().width > 0 &&
	e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).slice(0, 3).map(e => e.tagName + "." + e.className.toString() + " " + e.textContent.slice(0, 40)).join("; ")`

// TestAccessibility lets axe-core judge the page in both colours, everything
// unfolded. KBENCH_AXE is the path of axe.min.js.
func TestAccessibility(t *testing.T) {
	path := os.Getenv("KBENCH_AXE")
	if path == "" {
		if os.Getenv("KBENCH_REQUIRE_AXE") != "" {
			t.Fatal("KBENCH_AXE is not set: npm pack axe-core, unpack it and name its axe.min.js")
		}
		t.Skip("SKIPPED: KBENCH_AXE is not set; npm pack axe-core, unpack it and name its axe.min.js")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	for name, rep := range map[string]*Report{"real": realRun(t), "eventful": mustReport(t, mustOpen(t, eventful(t, "zk"))), "rolling": mustReport(t, mustOpen(t, rolling(t)))} {
		for _, scheme := range []string{"light", "dark"} {
			b.open(t, rep)
			b.media(t, "", scheme)
			if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](string(axe))); err != nil {
				t.Fatal(err)
			}
			violations := eval[[]string](t, b, `document.querySelectorAll("details").forEach(d => d.open = true);
				axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")))`)
			for _, v := range violations {
				t.Errorf("%s, %s: %s", name, scheme, v)
			}
		}
	}
}
