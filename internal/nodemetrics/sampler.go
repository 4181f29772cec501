package nodemetrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"kbench/internal/trace"
)

// Sample is one line. Sums count from the start of the process; a restarted
// node begins anew, which the falling sums show.
type Sample struct {
	T            int64            `json:"t"` // CLOCK_MONOTONIC, ns
	Node         string           `json:"node"`
	CPUMs        int64            `json:"cpu_ms"`        // user and system, sum
	RSSBytes     int64            `json:"rss_bytes"`     // resident now
	HeapBytes    int64            `json:"heap_bytes"`    // live Go objects now; 0 of a program that is not Go's
	Goroutines   int64            `json:"goroutines"`    // now; 0 of a program that is not Go's
	WrittenBytes int64            `json:"written_bytes"` // to files and sockets, sum
	DataBytes    int64            `json:"data_bytes"`    // size of the data directory when it was last walked, 0 without one
	Gauges       map[string]int64 `json:"gauges,omitempty"`
}

// Sampler writes a sample each Interval. All fields are set before Run.
type Sampler struct {
	Node     string
	File     string        // appended to
	DataDir  string        // may be absent
	Interval time.Duration // at least 100ms
	Gauges   map[string]func() int64
	// Pid is of another process to sample from outside: of that one the heap
	// and the goroutines are not known. 0 samples this process.
	Pid int

	data footprint
}

// Run samples until ctx ends, and once more then.
func (s *Sampler) Run(ctx context.Context) error {
	f, err := os.OpenFile(s.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the metrics of %s: %w", s.Node, err)
	}
	defer func() { _ = f.Close() }()
	return s.RunTo(ctx, f)
}

// RunTo is Run that writes to w in place of File.
func (s *Sampler) RunTo(ctx context.Context, w io.Writer) error {
	tick := time.NewTicker(max(s.Interval, 100*time.Millisecond))
	defer tick.Stop()
	for {
		if err := s.write(w); err != nil {
			return fmt.Errorf("write the metrics of %s: %w", s.Node, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Sampler) write(w io.Writer) error {
	if s.ended() {
		return nil
	}
	b, err := json.Marshal(s.sample())
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// ended reports whether another process that is sampled is gone, or a zombie.
func (s *Sampler) ended() bool {
	if s.Pid == 0 {
		return false
	}
	b, err := os.ReadFile(s.proc("stat"))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

func (s *Sampler) sample() Sample {
	out := Sample{T: trace.Now(), Node: s.Node, DataBytes: s.data.of(s.DataDir)}
	out.CPUMs, out.RSSBytes = cpuAndRSS(s.proc("stat"))
	out.WrittenBytes = written(s.proc("io"))
	if s.Pid != 0 {
		return out
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(heap)
	out.HeapBytes, out.Goroutines = int64(heap[0].Value.Uint64()), int64(heap[1].Value.Uint64())
	if len(s.Gauges) > 0 {
		out.Gauges = make(map[string]int64, len(s.Gauges))
		for name, read := range s.Gauges {
			out.Gauges[name] = read()
		}
	}
	return out
}

// proc is the path of what the kernel tells of the process.
func (s *Sampler) proc(file string) string {
	if s.Pid == 0 {
		return "/proc/self/" + file
	}
	return fmt.Sprintf("/proc/%d/%s", s.Pid, file)
}

// cpuAndRSS reads a stat file of proc(5): fields 14 and 15 in clock ticks
// of 10 ms, field 24 in pages.
func cpuAndRSS(stat string) (cpuMs, rssBytes int64) {
	b, err := os.ReadFile(stat)
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 22 {
		return 0, 0
	}
	n := func(i int) int64 { v, _ := strconv.ParseInt(f[i], 10, 64); return v }
	return (n(11) + n(12)) * 10, n(21) * int64(os.Getpagesize())
}

// written reads wchar of an io file of proc(5): every byte given to write(2)
// and its kin, files and sockets alike.
func written(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// walkShare bounds what walking the data directory takes: one part in so many
// of the time. A broker of real Kafka with 5,000 partitions has 20,000 files,
// and looking at each of them every second is load on what is measured.
const walkShare = 100

// footprint is the size of a directory when it was last walked.
type footprint struct {
	bytes int64
	next  int64 // when it may be walked again, CLOCK_MONOTONIC, ns
}

func (f *footprint) of(dir string) int64 {
	start := trace.Now()
	if start < f.next {
		return f.bytes
	}
	f.bytes = sizeOf(dir)
	end := trace.Now()
	f.next = end + walkShare*(end-start)
	return f.bytes
}

func sizeOf(dir string) int64 {
	if dir == "" {
		return 0
	}
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // files may go while we look
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
