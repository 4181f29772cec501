package nodemetrics

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"kbench/internal/trace"
)

func TestSampler(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "x"), make([]byte, 12345), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := Sampler{
		Node: "n", File: filepath.Join(dir, "m.jsonl"), DataDir: data, Interval: time.Hour,
		Gauges: map[string]func() int64{"fsyncs": func() int64 { cancel(); return 42 }},
	}
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	var got Sample
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.DataBytes != 12345 || got.Gauges["fsyncs"] != 42 || got.RSSBytes < 1<<20 || got.HeapBytes == 0 || got.Goroutines == 0 || got.WrittenBytes == 0 {
		t.Fatalf("got %+v", got)
	}
}

// Another process is sampled from outside; what it has ended with is nothing.
func TestSamplerOfAnotherProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := Sampler{Node: "n", Pid: cmd.Process.Pid}
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	var got Sample
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.WrittenBytes != 0 || got.HeapBytes != 0 || got.Goroutines != 0 {
		t.Errorf("got %+v", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.Reset()
	if err := s.write(&b); err != nil || b.Len() != 0 {
		t.Errorf("after its end: %q, %v", b.String(), err)
	}
}

// A directory that takes long to walk is walked seldom.
func TestWalksAreBounded(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	var f footprint
	before := trace.Now()
	if got := f.of(dir); got != 100 {
		t.Fatalf("%d bytes, want 100", got)
	}
	if f.next <= before {
		t.Fatal("the next walk may begin at once")
	}
	put("b")
	f.next = math.MaxInt64
	if got := f.of(dir); got != 100 {
		t.Errorf("%d bytes before the next walk, want the 100 of the last", got)
	}
	f.next = 0
	if got := f.of(dir); got != 200 {
		t.Errorf("%d bytes, want 200", got)
	}
}
