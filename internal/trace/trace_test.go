package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteThenRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	w, err := Create(path, "broker-1")
	if err != nil {
		t.Fatal(err)
	}
	w.Emit(Event{Kind: ControllerElected, Epoch: 7})
	// A phase change must be in the file before Close: a SIGKILL may follow.
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), `"epoch":7`) {
		t.Fatalf("event not written at once: %q, %v", b, err)
	}
	w.Emit(Event{Kind: BrokerApplied, N: 3})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("second Close: %v", err)
	}
	w.Emit(Event{Kind: BrokerApplied})
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := Read(f)
	if err != nil || len(events) != 2 {
		t.Fatalf("got %v, %v", events, err)
	}
	if events[0].Node != "broker-1" || events[1].T < events[0].T || events[0].T == 0 {
		t.Fatalf("node or stamps wrong: %+v", events)
	}
}

func TestReadTornAndBroken(t *testing.T) {
	good := `{"t":1,"node":"a","kind":"broker.applied"}` + "\n"
	if ev, err := Read(strings.NewReader(good + `{"t":2,"no`)); err != nil || len(ev) != 1 {
		t.Errorf("torn last line: %v, %v", ev, err)
	}
	if _, err := Read(strings.NewReader("garbage\n" + good)); err == nil {
		t.Error("broken first line gave no error")
	}
}

func TestNilWriter(t *testing.T) {
	var w *Writer
	w.Emit(Event{Kind: BrokerApplied})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed leaves whole lines, however many events it buffered.
func TestKilledWriterLeavesWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	w, err := Create(path, "n")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 { // several buffers full; then nobody closes it
		w.Emit(Event{Kind: BrokerApplied, N: int64(i)})
	}
	again, err := Create(path, "n")
	if err != nil {
		t.Fatal(err)
	}
	again.Emit(Event{Kind: ControllerElected})
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := Read(f)
	if err != nil || len(events) < 1000 || events[len(events)-1].Kind != ControllerElected {
		t.Errorf("%d events, %v", len(events), err)
	}
}
