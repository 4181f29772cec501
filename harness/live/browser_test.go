package live

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"kbench/workloads"
)

// tab is one page of a headless Chromium and what its console said.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	console []string
}

// openTab starts a browser, or skips the test where there is none.
func openTab(t *testing.T) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("KBENCH_REQUIRE_CHROMIUM") != "" {
			t.Fatal("Chromium is required here and is not installed")
		}
		t.Skip("SKIPPED: there is no Chromium; apt-get install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.console = append(b.console, m.String())
			b.mu.Unlock()
		}
	}()
	return b
}

// said gives what the console said.
func (b *tab) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.console, "; ")
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%v; the console said %q", err, b.said())
	}
}

// shows waits until an element shows exactly this text.
func (b *tab) shows(id, text string) {
	b.t.Helper()
	is := "document.getElementById(" + strconv.Quote(id) + ").textContent"
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](is+" === "+strconv.Quote(text),
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
	if err != nil {
		got, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](is))
		b.t.Fatalf("#%s shows %q, want %q: %v; the console said %q", id, got, text, err, b.said())
	}
}

// eval evaluates an expression of the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// inked counts the pixels of a chart that are drawn on.
func (b *tab) inked(id string) int {
	return eval[int](b, `(() => {
		const c = document.getElementById(`+strconv.Quote(id)+`);
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", {willReadFrequently: true});
		copy.drawImage(c, 0, 0);
		const d = copy.getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 3; i < d.length; i += 4) if (d[i]) n++;
		return n;
	})()`)
}

// TestPageInChromium watches a run in a real browser: values change, charts
// are drawn, names that hold HTML stay text, nothing complains, and the end
// names the report.
func TestPageInChromium(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a browser")
	}
	b := openTab(t)
	board, p := running()
	s := serve(t, board)
	b.do(chromedp.Navigate(s.URL()))
	b.shows("connection", "live")
	b.shows("doing", "starting")
	empty := b.inked("trials")

	board.Update(p)
	b.shows("name", `<img src=x onerror="alert(1)">`)
	b.shows("doing", "controlled-shutdown trial 2/3 recover")
	b.shows("controller", "101, epoch 4")
	b.shows("faults", "stop of 2")
	b.shows("headline", "p50 250 ms, max 250 ms, n 1")
	b.shows("valid", "0")

	p.Faults, p.Valid, p.Work.Phase = nil, 1, "restore"
	p.Trial = &workloads.Trial{Workload: "<b>bold</b>", N: 2, Reason: "<script>alert(2)</script>"}
	board.Update(p)
	board.Line("<i>said</i>")
	board.Finish(Result{Verdict: "valid", Report: "/runs/a b/<u>/report.html"})
	b.shows("faults", "none")
	b.shows("valid", "1")
	b.shows("verdict", "valid")
	b.shows("report", "/runs/a b/<u>/report.html")
	s.Close()
	b.shows("connection", "the run is over; this page stays as it is")

	if n := eval[int](b, `document.querySelectorAll("img, b, i, u, main script").length`); n != 0 {
		t.Errorf("text became %d elements", n)
	}
	if rows := eval[string](b, `[...document.querySelectorAll("#rows tr")].map((r) => r.lastChild.textContent).join()`); rows != "invalid,250 ms" {
		t.Errorf("values of the table: %s", rows)
	}
	if text := eval[string](b, `document.getElementById("rows").textContent`); !strings.Contains(text, "<b>bold</b> trial 2 is invalid: <script>alert(2)</script>") {
		t.Errorf("table: %s", text)
	}
	if text := eval[string](b, `document.getElementById("log").textContent`); !strings.Contains(text, "<i>said</i>") {
		t.Errorf("messages: %s", text)
	}
	if n := eval[int](b, `document.querySelectorAll("main a").length`); n != 0 {
		t.Errorf("%d links, and a browser follows none from here to a file", n)
	}
	// A second may have passed, and the headline been sampled; its p99 is none.
	key, moved := eval[string](b, `[...document.querySelectorAll(".key")].map((k) => [...k.children].map((c) => c.textContent).join()).join(";")`), "controlled-shutdown.moved"
	if key != ";zk "+moved && key != moved+" p50;zk "+moved {
		t.Errorf("the key names what is not drawn: %s", key)
	}
	if high := eval[int](b, `Math.max(...[...document.querySelectorAll("tr > :not(:nth-child(3))")].map((c) => c.getClientRects().length && (() => { const r = document.createRange(); r.selectNodeContents(c); return new Set([...r.getClientRects()].map((x) => Math.round(x.top))).size; })()))`); high != 1 {
		t.Errorf("words of the table are broken into %d lines", high)
	}
	if n := b.inked("trials"); n < empty+500 {
		t.Errorf("the chart of trials has %d pixels, and had %d without a trial", n, empty)
	}
	if said := b.said(); said != "" {
		t.Errorf("the console says: %s", said)
	}
}
