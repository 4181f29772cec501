package live

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"kbench/harness"
	"kbench/results"
)

// metrics gathers what /metrics tells. Its registry is its own.
type metrics struct {
	board   *Board
	trials  *prometheus.CounterVec
	latency *prometheus.HistogramVec
	gauges  map[string]*prometheus.Desc
}

// trialBuckets are seconds, from what a push takes to what a recovery under
// default timers takes.
var trialBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250}

// newMetrics gives the handler of /metrics.
func newMetrics(b *Board) http.Handler {
	m := &metrics{
		board: b,
		trials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kbench_trials_total", Help: "Trials that are over.",
		}, []string{"target", "partitions", "workload", "valid"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kbench_trial_seconds", Help: "The headline of each valid trial that is a latency.", Buckets: trialBuckets,
		}, []string{"target", "partitions", "metric"}),
		gauges: map[string]*prometheus.Desc{},
	}
	for _, g := range []struct {
		name, help string
		labels     []string
	}{
		{"kbench_run_info", "1; the name of the spec that runs.", []string{"spec"}},
		{"kbench_run_elapsed_seconds", "Since the run began.", nil},
		{"kbench_run_left_seconds", "Guess of the time left, by the plan and by what finished cells took.", nil},
		{"kbench_run_over", "1 when the run has ended; the label is its verdict.", []string{"verdict"}},
		{"kbench_cell", "Number of the cell under way, from 1.", nil},
		{"kbench_cells", "Cells of the run, repeats counted.", nil},
		{"kbench_cell_info", "1; the cell under way and what it does.", []string{"cell", "target", "variant", "workload", "phase"}},
		{"kbench_cell_partitions", "Partitions of the cell under way.", nil},
		{"kbench_trial", "Number of the trial under way, 0 for none.", nil},
		{"kbench_controller_id", "The active controller at the last health gate, 0 while none is known.", nil},
		{"kbench_controller_epoch", "Its epoch.", nil},
		{"kbench_faults_active", "Faults that a node is under.", []string{"node", "fault"}},
		{"kbench_headline_seconds", "The headline of the workload under way so far, where it is a latency.", []string{"metric", "stat"}},
		{"kbench_headline_per_second", "The headline of the workload under way so far, where it is a rate.", []string{"metric", "stat"}},
		{"kbench_headline_values", "How many values the headline so far has.", []string{"metric"}},
	} {
		m.gauges[g.name] = prometheus.NewDesc(g.name, g.help, g.labels, nil)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, m.trials, m.latency)
	b.hearTrials(m.trial)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: silent(), MaxRequestsInFlight: 4, Timeout: writeTimeout / 2})
}

// trial counts a trial that is over. It runs on a goroutine that measures.
func (m *metrics) trial(p harness.Progress) {
	t, partitions := p.Trial, strconv.Itoa(p.Partitions)
	m.trials.WithLabelValues(label(p.Target), partitions, label(t.Workload), strconv.FormatBool(t.Valid)).Inc()
	if !t.Valid || p.Headline.Unit != results.Nanoseconds {
		return
	}
	for _, v := range t.Values {
		if v.Metric+"."+v.Phase == p.Headline.Metric {
			m.latency.WithLabelValues(label(p.Target), partitions, label(p.Headline.Metric)).Observe(v.V / float64(time.Second))
		}
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range m.gauges {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(name string, v float64, labels ...string) {
		if math.IsNaN(v) {
			return
		}
		for i := range labels {
			labels[i] = label(labels[i])
		}
		out <- prometheus.MustNewConstMetric(m.gauges[name], prometheus.GaugeValue, v, labels...)
	}
	s := m.board.Snapshot()
	p := s.Progress
	gauge("kbench_run_info", 1, s.Name)
	gauge("kbench_run_elapsed_seconds", s.Elapsed.Seconds())
	if s.LeftKnown {
		gauge("kbench_run_left_seconds", s.Left.Seconds())
	}
	if s.Result != nil {
		gauge("kbench_run_over", 1, s.Result.Verdict)
	}
	if !s.Started {
		return
	}
	gauge("kbench_cell", float64(p.Cell))
	gauge("kbench_cells", float64(p.Cells))
	gauge("kbench_cell_info", 1, p.ID, p.Target, p.Variant, p.Work.Workload, phaseOf(p))
	gauge("kbench_cell_partitions", float64(p.Partitions))
	gauge("kbench_trial", float64(p.Work.Trial))
	gauge("kbench_controller_id", float64(p.Controller.ID))
	if p.Controller.Epoch >= 0 {
		gauge("kbench_controller_epoch", float64(p.Controller.Epoch))
	}
	for _, f := range p.Faults {
		gauge("kbench_faults_active", 1, strconv.Itoa(int(f.Node)), string(f.Fault))
	}
	h := p.Headline
	if h.Metric == "" {
		return
	}
	gauge("kbench_headline_values", float64(h.N), h.Metric)
	if h.N == 0 {
		return
	}
	name := "kbench_headline_seconds"
	if h.Unit != results.Nanoseconds {
		name = "kbench_headline_per_second"
	}
	gauge(name, inUnit(h.P50, h.Unit), h.Metric, "p50")
	gauge(name, inUnit(h.P99, h.Unit), h.Metric, "p99")
	gauge(name, inUnit(h.Max, h.Unit), h.Metric, "max")
}

// phaseOf is the finest phase that is known.
func phaseOf(p harness.Progress) string {
	if p.Phase == "workload" {
		return p.Work.Phase
	}
	return p.Phase
}

// label makes a value that Prometheus takes: valid UTF-8.
func label(s string) string { return strings.ToValidUTF8(s, "?") }
