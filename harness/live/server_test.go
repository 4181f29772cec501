package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"kbench/harness"
	"kbench/results"
	"kbench/workloads"
)

// running is a board in the midst of a trial whose names are hostile.
func running() (*Board, harness.Progress) {
	b := NewBoard(Plan{Name: `<img src=x onerror="alert(1)">`, Total: time.Hour, Cell: func(string) time.Duration { return time.Minute }})
	p := at(1, "workload", workloads.Progress{Workload: "controlled-shutdown", Trial: 2, Trials: 3, Phase: "recover"})
	p.Variant, p.Controller = "a\"b\\c\n", harness.Controller{ID: 101, Epoch: 4}
	p.Faults = []harness.ActiveFault{{Node: 2, Fault: workloads.FaultStop, Since: time.Now()}}
	p.Headline = harness.Headline{Metric: "controlled-shutdown.moved", Unit: results.Nanoseconds, N: 1, P50: 25e7, P99: math.NaN(), Max: 25e7}
	p.Trial = &workloads.Trial{
		Workload: "controlled-shutdown", N: 1, Valid: true,
		Values: []workloads.Value{{Metric: "controlled-shutdown", Phase: "moved", V: 25e7}},
	}
	return b, p
}

func serve(t *testing.T, b *Board) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestServeGivesPageAndHealth(t *testing.T) {
	s := serve(t, NewBoard(Plan{}))
	if s.Exposed() || !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("%s, exposed: %v", s.URL(), s.Exposed())
	}
	for path, want := range map[string]struct{ kind, text string }{
		"":         {"text/html; charset=utf-8", "page.js"},
		"page.js":  {"text/javascript; charset=utf-8", "EventSource"},
		"page.css": {"text/css; charset=utf-8", "--ground"},
		"healthz":  {"text/plain; charset=utf-8", "ok\n"},
	} {
		resp, body := get(t, s.URL()+path)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != want.kind || !strings.Contains(body, want.text) {
			t.Errorf("/%s: %s, %s", path, resp.Status, resp.Header.Get("Content-Type"))
		}
		if resp.Header.Get("Content-Security-Policy") != policy || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("/%s: headers %v", path, resp.Header)
		}
	}
	if resp, _ := get(t, s.URL()+"../server.go"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a file beside the page: %s", resp.Status)
	}
}

// The page refers to nothing that is not its own and holds no inline script or
// style, which its policy forbids.
func TestPageIsSelfContained(t *testing.T) {
	html, err := pageFiles.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http:", "https:", "//", "<style", " style=", " onclick=", "<script>"} {
		if strings.Contains(string(html), bad) {
			t.Errorf("index.html holds %q", bad)
		}
	}
	js, err := pageFiles.ReadFile("page/page.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http:"} {
		if strings.Contains(string(js), bad) {
			t.Errorf("page.js holds %q", bad)
		}
	}
}

func TestGuard(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		given, method, host string
		want                int
	}{
		{"127.0.0.1", "GET", "127.0.0.1:8080", 204},
		{"127.0.0.1", "HEAD", "localhost:8080", 204},
		{"127.0.0.1", "GET", "LOCALHOST", 204},
		{"127.0.0.1", "GET", "[::1]:8080", 204},
		{"127.0.0.1", "GET", "[::1]", 204},
		{"0.0.0.0", "GET", "192.0.2.7:8080", 204},
		{"bench.example", "GET", "bench.example.:8080", 204},
		{"127.0.0.1", "GET", "bench.example:8080", 421},
		{"127.0.0.1", "GET", "evil.example", 421},
		{"127.0.0.1", "GET", "127.0.0.1.evil.example:8080", 421},
		{"127.0.0.1", "GET", "localhost.evil.example", 421},
		{"", "GET", "", 421},
		{"127.0.0.1", "POST", "127.0.0.1:8080", 405},
		{"127.0.0.1", "DELETE", "127.0.0.1:8080", 405},
		{"127.0.0.1", "POST", "evil.example", 421},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		guard(c.given, ok).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s for %q on %q: %d, want %d", c.method, c.host, c.given, w.Code, c.want)
		}
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s for %q: no policy", c.method, c.host)
		}
	}
}

func TestServeRefusesWhatItCannotHave(t *testing.T) {
	s := serve(t, NewBoard(Plan{}))
	for addr, want := range map[string]string{
		s.listener.Addr().String(): "the port is in use; choose another",
		"127.0.0.1":                "is not host:port; write 127.0.0.1:8080",
		"":                         "is not host:port",
		"127.0.0.1:http":           "not a number from 0 to 65535",
		"127.0.0.1:70000":          "not a number from 0 to 65535",
		"127.0.0.1:+1":             "not a number from 0 to 65535",
		"192.0.2.1:0":              "give an address of this machine",
	} {
		other, err := Serve(addr, NewBoard(Plan{}))
		if err == nil {
			other.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
		if asked := CheckAddr(addr); fmt.Sprint(asked) != fmt.Sprint(err) {
			t.Errorf("asked beforehand, %q gives %v, and then %v", addr, asked, err)
		}
	}
	if err := CheckAddr("127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	local, err := Serve(":0", NewBoard(Plan{}))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if a := local.listener.Addr().(*net.TCPAddr); !a.IP.IsLoopback() {
		t.Errorf("an address without a host listens on %v", a)
	}
	all, err := Serve("0.0.0.0:0", NewBoard(Plan{}))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if !all.Exposed() || !strings.HasPrefix(all.URL(), "http://127.0.0.1:") {
		t.Errorf("%s, exposed: %v", all.URL(), all.Exposed())
	}
}

// nextEvent reads one server-sent event.
func nextEvent(t *testing.T, r *bufio.Reader) (name, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "end", err.Error()
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			name = value
		case "data":
			data = value
		case "":
			return name, data
		}
	}
}

func openStream(t *testing.T, s *Server, last string) (*bufio.Reader, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewReader(resp.Body), resp
}

// A stream begins with all that is remembered and ends with the run.
func TestStream(t *testing.T) {
	b, p := running()
	s := serve(t, b)
	b.Update(p)
	events, resp := openStream(t, s, "")
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Error(got)
	}
	var kinds []string
	var st state
	for st.Name == "" {
		name, data := nextEvent(t, events)
		switch name {
		case "item":
			var i event
			if err := json.Unmarshal([]byte(data), &i); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, string(i.Kind))
		case "state":
			if err := json.Unmarshal([]byte(data), &st); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("event %s %s", name, data)
		}
	}
	if got := strings.Join(kinds, " "); got != "fault controller trial step" {
		t.Errorf("items: %s", got)
	}
	if st.Controller != "101, epoch 4" || st.Faults != "stop of 2" || st.Headline != "p50 250 ms, max 250 ms, n 1" || st.Left == nil {
		t.Errorf("%+v", st)
	}
	later, _ := openStream(t, s, "3")
	if name, data := nextEvent(t, later); name != "item" || !strings.Contains(data, `"kind":"step"`) {
		t.Errorf("after the third item: %s %s", name, data)
	}
	b.Finish(Result{Verdict: "valid", Report: "/runs/a b/report.html"})
	done := make(chan struct{})
	go func() { defer close(done); s.Close() }()
	for range 100 {
		name, data := nextEvent(t, events)
		if name == "over" {
			if data != `{"verdict":"valid","report":"/runs/a b/report.html"}` {
				t.Error(data)
			}
			if name, _ := nextEvent(t, events); name != "end" {
				t.Errorf("%s after the end", name)
			}
			<-done
			return
		}
	}
	t.Error("a hundred events and no end")
}

// Close waits for no client that keeps its stream open, and leaves nothing.
func TestCloseLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b, p := running()
	s, err := Serve("127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	b.Update(p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	start := time.Now()
	s.Close()
	s.Close()
	if took := time.Since(start); took > shutdownTimeout+30*time.Second {
		t.Errorf("Close took %v", took)
	}
	if _, err := net.DialTimeout("tcp", s.listener.Addr().String(), time.Second); err == nil {
		t.Error("it still listens")
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s := serve(t, NewBoard(Plan{}))
	for range maxStreams {
		openStream(t, s, "")
	}
	if resp, _ := get(t, s.URL()+"events"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more stream: %s", resp.Status)
	}
}

const wantMetrics = `
# HELP kbench_cell_info 1; the cell under way and what it does.
# TYPE kbench_cell_info gauge
kbench_cell_info{cell="cell1",phase="recover",target="zk",variant="a\"b\\c\n",workload="controlled-shutdown"} 1
# HELP kbench_controller_epoch Its epoch.
# TYPE kbench_controller_epoch gauge
kbench_controller_epoch 4
# HELP kbench_faults_active Faults that a node is under.
# TYPE kbench_faults_active gauge
kbench_faults_active{fault="stop",node="2"} 1
# HELP kbench_headline_seconds The headline of the workload under way so far, where it is a latency.
# TYPE kbench_headline_seconds gauge
kbench_headline_seconds{metric="controlled-shutdown.moved",stat="max"} 0.25
kbench_headline_seconds{metric="controlled-shutdown.moved",stat="p50"} 0.25
# HELP kbench_run_info 1; the name of the spec that runs.
# TYPE kbench_run_info gauge
kbench_run_info{spec="<img src=x onerror=\"alert(1)\">"} 1
# HELP kbench_run_over 1 when the run has ended; the label is its verdict.
# TYPE kbench_run_over gauge
kbench_run_over{verdict="valid"} 1
# HELP kbench_trials_total Trials that are over.
# TYPE kbench_trials_total counter
kbench_trials_total{partitions="1000",target="zk",valid="false",workload="controlled-shutdown"} 1
kbench_trials_total{partitions="1000",target="zk",valid="true",workload="controlled-shutdown"} 1
`

func TestMetrics(t *testing.T) {
	b, p := running()
	s := serve(t, b)
	if _, body := get(t, s.URL()+"metrics"); !strings.Contains(body, "kbench_run_elapsed_seconds") || strings.Contains(body, "kbench_cell ") {
		t.Errorf("before the first cell:\n%s", body)
	}
	b.Update(p)
	p.Trial = &workloads.Trial{Workload: "controlled-shutdown", N: 2, Reason: "because"}
	b.Update(p)
	b.Finish(Result{Verdict: "valid"})
	err := testutil.ScrapeAndCompare(s.URL()+"metrics", strings.NewReader(wantMetrics),
		"kbench_cell_info", "kbench_controller_epoch", "kbench_faults_active", "kbench_headline_seconds",
		"kbench_run_info", "kbench_run_over", "kbench_trials_total")
	if err != nil {
		t.Error(err)
	}
	_, body := get(t, s.URL()+"metrics")
	if !strings.Contains(body, `kbench_trial_seconds_bucket{metric="controlled-shutdown.moved",partitions="1000",target="zk",le="0.25"} 1`) ||
		!strings.Contains(body, `kbench_trial_seconds_count{metric="controlled-shutdown.moved",partitions="1000",target="zk"} 1`) {
		t.Errorf("no histogram of trials:\n%s", body)
	}
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "kbench_") {
			t.Errorf("not of kbench: %s", line)
		}
	}
}
