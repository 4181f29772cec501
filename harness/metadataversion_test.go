package harness

import (
	"slices"
	"strings"
	"testing"

	apache "kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/kafka"
	"kbench/results"
)

// A metadata.version that a spec names reaches the nodes of both sides, and then
// nothing of it is a difference of the two. One that no spec names is each
// side's own, and reports say so.
func TestMetadataVersionOfBothSides(t *testing.T) {
	for _, c := range []struct {
		written, told string
		row           map[string]string // the beginning of each side's words; nil for no row
	}{
		{"", "", map[string]string{"kraft": "4.0-IV3 and no feature beside it", "kafka-kraft": "4.4-IV2 and the features that go with it, eligible"}},
		{"4.4", "4.4-IV2", nil},
		{"4.0-IV3", "4.0-IV3", nil},
	} {
		src := "workloads: [{kind: propagation}]\ntargets: [kafka-kraft, kraft]\nset: {kraft.metadataVersion: '" + c.written + "'}\n"
		s, err := spec.Parse("test.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var cells []results.Cell
		for _, cell := range s.Cells() {
			cells = append(cells, results.Cell{ID: cell.ID, Target: string(cell.Target)})
			members, err := layout(t.Context(), shapeOf(cell, kafka.UUID{1}), &stubProvider{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members {
				told := m.cfg.Tuning.MetadataVersion
				if m.kafka != nil {
					told = formattedAt(*m.kafka)
				}
				if told != c.told {
					t.Errorf("%q: %s of %s begins at %q, want %q", c.written, m.cfg.Name, cell.Target, told, c.told)
				}
			}
		}
		rows := contrasts(s.Cells(), cells)
		i := slices.IndexFunc(rows, func(r results.Contrast) bool { return r.What == "metadata.version" })
		if (i >= 0) != (c.row != nil) {
			t.Errorf("%q: rows %v", c.written, rows)
			continue
		}
		for target, want := range c.row {
			if got := rows[i].Values[target]; !strings.HasPrefix(got, want) {
				t.Errorf("%q: %s has %q, want %q", c.written, target, got, want)
			}
		}
	}
}

// formattedAt is what the tool of Kafka is told to format a node's storage at.
func formattedAt(k provider.Kafka) string {
	args := apache.Place{}.FormatArgs(k)
	if i := slices.Index(args, "--release-version"); i >= 0 {
		return args[i+1]
	}
	return ""
}
