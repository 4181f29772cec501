package history

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"kbench/results/benchfmt"
	"kbench/results/simulated"
)

// TestToRun: the run that a history gives back exports as the run folder does.
func TestToRun(t *testing.T) {
	r, err := simulated.New(truth(0))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), FileName)
	mustAdd(t, path, night(t, truth(0)))
	back, err := mustRead(t, path).Nights[0].ToRun()
	if err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if err := benchfmt.Write(&want, r); err != nil {
		t.Fatal(err)
	}
	if err := benchfmt.Write(&got, back); err != nil {
		t.Fatal(err)
	}
	if want.Len() < 500 || want.String() != got.String() {
		t.Errorf("exported\n%s\nwant\n%s", got.String(), want.String())
	}
}

// TestToRunDamaged: a damaged histogram is told by its run and figure.
func TestToRunDamaged(t *testing.T) {
	line := strings.Replace(asJSON(t, night(t, truth(0))), `"v2":"HIST`, `"v2":"HAST`, 1)
	f, err := decode("h", []byte(line+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lines[0].night.ToRun(); err == nil || !strings.Contains(err.Error(), "20260301T020000Z-nightly of the history, propagation.last of zk.base.partitions-1k") {
		t.Errorf("%v", err)
	}
}
