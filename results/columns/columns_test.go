package columns

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// sides is a report in small: prose, a command, a table of two sides and one
// of prose.
func sides() string {
	return strings.Join([]string{
		"duel: VALID. Run 2026-11-29 on a machine with many words about it, which go on and on until the line is long.",
		"  next rung to measure: kbench run --targets zk,kraft --partitions 100,200,400,800,1600 --trials 12 --repeats 2",
		"brokers=6 was not measured (there is 3); measure it with `kbench run spec.yaml --targets zk --partitions 1k --set cluster.brokers=6`, and then ask again.",
		"",
		Table{
			Ruled: true, Right: []bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true},
			Head: []string{"phase", "partitions", "zk n", "min", "median", "95% of median", "kraft n", "min", "median", "95% of median"},
			Rows: [][]string{
				{"granted", "1k", "10", "86.4 ms", "98.9 ms", "91.9 ms to 106 ms", "10", "302 ms", "355 ms", "328 ms to 388 ms"},
				{"", "10k", "10", "862 ms", "980 ms", "886 ms to 1.007 s", "9", "299 ms", "350 ms", "318 ms to 387 ms"},
				{"moved *", "1k", "10", "72.4 ms", "80.5 ms", "74.7 ms to 85.5 ms", "10", "369 ms", "406 ms", "374 ms to 1.656 s"},
			},
		}.Text(1000),
		Table{
			Ruled: true, Head: []string{"", "zk", "kraft"},
			Rows: [][]string{{"store", "embedded, not replicated, and of one server of 日本", "its own log, fsynced by a quorum"}},
		}.Text(1000),
	}, "\n")
}

// TestFit: every form at the widths of a terminal and of a pipe.
func TestFit(t *testing.T) {
	for name, w := range map[string]Width{"80": Terminal(80), "60": Terminal(60), "pipe": Pipe} {
		got := Fit(sides(), w)
		path := filepath.Join("testdata", name+".txt")
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s differs, %v; run with -rewrite and read the diff:\n%s", path, err, got)
		}
		for line := range strings.Lines(got) {
			if n := wide(strings.TrimSuffix(line, "\n")); n > w.Table && !strings.Contains(line, "kbench run") {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// TestDrop: the least column goes before the table is folded.
func TestDrop(t *testing.T) {
	table := Table{
		Head: []string{"run", "started", "notes"}, Drop: []int{1},
		Rows: [][]string{{"20260301T020000Z-nightly", "2026-03-01T02:00:00Z", "the disk is slow, and so is the machine"}},
	}
	if got := table.Text(120); !strings.Contains(got, "started") || strings.Count(got, "\n") != 2 {
		t.Errorf("with room:\n%s", got)
	}
	if got := table.Text(55); strings.Contains(got, "started") || !strings.Contains(got, "notes") {
		t.Errorf("without room:\n%s", got)
	}
}

// TestNothingIsLost: every word comes out again, and no line is too wide but
// for one long word.
func TestNothingIsLost(t *testing.T) {
	words := regexp.MustCompile(`\S+`)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "columns")
		cell := rapid.StringMatching(`[a-z0-9]{0,12}( [a-z0-9]{1,9}){0,8}`)
		table := Table{Ruled: rapid.Bool().Draw(t, "ruled"), Right: make([]bool, n)}
		for i := range n {
			table.Right[i] = rapid.Bool().Draw(t, "right")
		}
		row := rapid.SliceOfN(cell, n, n)
		table.Head = row.Draw(t, "head")
		table.Rows = rapid.SliceOfN(row, 1, 4).Draw(t, "rows")
		got := table.Text(rapid.IntRange(20, 150).Draw(t, "width"))
		seen := map[string]bool{}
		for _, w := range words.FindAllString(got, -1) {
			seen[w] = true
		}
		for _, r := range append(table.Rows, table.Head) {
			for _, c := range r {
				for _, w := range words.FindAllString(c, -1) {
					if !seen[w] {
						t.Fatalf("%q is lost in\n%s", w, got)
					}
				}
			}
		}
	})
}
