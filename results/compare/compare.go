package compare

import (
	"cmp"
	"fmt"
	"slices"

	"kbench/results"
	"kbench/results/stat"
)

// New compares the inputs. The error is an *IncomparableError where they
// differ in more than what is compared; a comparison without rows is none.
func New(inputs []Input, o Options) (*Comparison, error) {
	l, err := newLayout(inputs, o.By)
	if err != nil {
		return nil, err
	}
	b := &builder{layout: l, ignore: o.Ignore, rows: map[rowKey]*rowCells{}}
	var sides []Side
	b.keys, sides = l.sides()
	b.out = &Comparison{
		Format: "kbench-comparison", SchemaVersion: SchemaVersion, Alpha: stat.Alpha, Confidence: results.Confidence,
		Sides: sides, Rows: []Row{}, Unmatched: []Unmatched{}, Excluded: []Excluded{}, Differences: []Difference{}, Warnings: []string{},
	}
	if len(b.keys) < 2 {
		return nil, fmt.Errorf("%s is the only side: nothing to compare", sides[0].Name)
	}
	for run := range inputs {
		b.exclude(run)
		ms, err := l.measure(run)
		if err != nil {
			return nil, err
		}
		if !b.whole[run] {
			b.add(ms)
		}
	}
	if err := b.checkConditions(); err != nil {
		return nil, err
	}
	b.makeRows()
	b.out.judge()
	b.warn()
	return b.out, nil
}

// rowCells are the cells of one row, by side.
type rowCells struct {
	key   rowKey
	first measured
	cells []*measured // by side, nil where absent
}

// builder puts a comparison together.
type builder struct {
	*layout
	ignore []string
	keys   []sideKey
	out    *Comparison

	whole [maxRuns]bool // runs that are excluded as a whole
	lost  []lostPlace   // where excluded cells would have stood
	rows  map[rowKey]*rowCells
	order []*rowCells // as first seen
}

type lostPlace struct {
	side int
	at   place
}

// exclude names what must not enter: cells that are not valid, and all of a
// run that is not although its cells are.
func (b *builder) exclude(run int) {
	m := &b.inputs[run].Run.Manifest
	bad := 0
	for i := range m.Cells {
		c := &m.Cells[i]
		if c.Verdict == results.Valid {
			continue
		}
		bad++
		side := slices.Index(b.keys, b.key(run, c))
		b.lost = append(b.lost, lostPlace{side, b.place(c)})
		b.out.Excluded = append(b.out.Excluded, Excluded{b.out.Sides[side].Name, c.ID, c.Verdict, orEmpty(c.Reasons)})
	}
	if bad > 0 || m.Verdict == results.Valid {
		return
	}
	b.whole[run] = true
	for side, k := range b.keys {
		if k.run == run {
			b.out.Excluded = append(b.out.Excluded, Excluded{b.out.Sides[side].Name, "", m.Verdict, orEmpty(m.Reasons)})
		}
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (b *builder) add(ms []measured) {
	for i := range ms {
		m := &ms[i]
		row := b.rows[m.key]
		if row == nil {
			row = &rowCells{key: m.key, first: *m, cells: make([]*measured, len(b.keys))}
			b.rows[m.key] = row
			b.order = append(b.order, row)
		}
		row.cells[slices.Index(b.keys, m.side)] = m
	}
}

// checkConditions compares the conditions of all cells that share a row with
// those of the first among them.
func (b *builder) checkConditions() error {
	specs := make([]*specParts, len(b.inputs))
	for i, in := range b.inputs {
		specs[i] = readSpec(in.Run.Manifest.SpecYAML)
	}
	of := func(m *measured) conditions {
		run := m.side.run
		return conditionsOf(&b.inputs[run].Run.Manifest, m.cell, specs[run], b.axes)
	}
	type pair struct{ a, b *results.Cell }
	checked := map[pair]bool{}
	known := map[string]bool{} // paths that could differ
	var refused []Difference
	for _, row := range b.order {
		var first *measured
		for _, m := range row.cells {
			if m == nil {
				continue
			}
			if first == nil {
				first = m
				continue
			}
			if p := (pair{first.cell, m.cell}); checked[p] {
				continue
			} else {
				checked[p] = true
			}
			names := [2]string{b.sideName(first), b.sideName(m)}
			one, other := of(first), of(m)
			for _, c := range []conditions{one, other} {
				for path := range c.values {
					known[path] = true
				}
			}
			ok, no := differences(one, other, first.cell.Target == m.cell.Target, names, b.ignore)
			b.out.Differences = merge(b.out.Differences, ok)
			refused = merge(refused, no)
		}
	}
	if len(refused) > 0 {
		return &IncomparableError{refused}
	}
	return checkIgnored(b.ignore, known)
}

// checkIgnored refuses a path that names nothing: it would look as if it had
// worked.
func checkIgnored(ignore []string, known map[string]bool) error {
	for _, p := range ignore {
		found := false
		for path := range known {
			found = found || ignored([]string{p}, path)
		}
		if !found && len(known) > 0 {
			return fmt.Errorf("--ignore %s: no setting and no field of the environment has this path; `kbench list` shows those of settings", p)
		}
	}
	return nil
}

func (b *builder) sideName(m *measured) string {
	return b.out.Sides[slices.Index(b.keys, m.side)].Name
}

// merge adds the differences that are not listed yet.
func merge(list, more []Difference) []Difference {
	for _, d := range more {
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// makeRows makes a row where two sides measured something, and lists others.
func (b *builder) makeRows() {
	b.sort()
	for _, r := range b.order {
		var have, lack []string
		for side, m := range r.cells {
			switch name := b.out.Sides[side].Name; {
			case m != nil:
				have = append(have, name)
			case !slices.Contains(b.lost, lostPlace{side, place{r.key.target, r.key.variant, r.key.point}}) && !b.whole[b.keys[side].run]:
				lack = append(lack, name)
			}
		}
		if len(lack) > 0 && r.key.stat == median {
			k := r.key
			b.out.Unmatched = append(b.out.Unmatched, Unmatched{k.target, k.variant, k.point, k.workload, k.metric, k.phase, have, lack})
		}
		if len(have) > 1 {
			b.out.Rows = append(b.out.Rows, r.row())
		}
	}
}

func (r *rowCells) row() Row {
	m, _, _ := results.FindMetric(r.key.metric)
	f := r.first.figure
	row := Row{
		Target: r.key.target, Variant: r.key.variant, Point: r.key.point, Partitions: r.first.cell.Partitions,
		Workload: r.key.workload, Metric: r.key.metric, Phase: r.key.phase, Stat: r.key.stat,
		Unit: f.Unit, Better: m.Better, Headline: f.Headline && r.key.stat == median, Changes: []Change{}, docs: m.Doc,
	}
	for _, m := range r.cells {
		if m == nil {
			row.Values = append(row.Values, nil)
			continue
		}
		row.Values = append(row.Values, m.value)
		row.Histogram = row.Histogram || m.figure.Histogram
	}
	return row
}

// sort orders rows by target and variant as first seen, by metric and phase as
// in the catalogue, by partitions.
func (b *builder) sort() {
	seen := map[string]int{}
	rank := func(kind, name string) int {
		if _, ok := seen[kind+name]; !ok {
			seen[kind+name] = len(seen)
		}
		return seen[kind+name]
	}
	for _, r := range b.order {
		rank("place", r.key.target+"\x00"+r.key.variant)
		rank("point", r.key.point)
	}
	phases := map[string]int{}
	for _, m := range results.Metrics() {
		for _, p := range m.Phases {
			phases[m.Name+"."+p.Name] = len(phases)
		}
	}
	slices.SortStableFunc(b.order, func(x, y *rowCells) int {
		return cmp.Or(
			cmp.Compare(rank("place", x.key.target+"\x00"+x.key.variant), rank("place", y.key.target+"\x00"+y.key.variant)),
			cmp.Compare(firstPhase(phases, x.key), firstPhase(phases, y.key)),
			cmp.Compare(x.key.workload, y.key.workload),
			cmp.Compare(phases[x.key.metric+"."+x.key.phase], phases[y.key.metric+"."+y.key.phase]),
			cmp.Compare(x.key.stat, y.key.stat),
			cmp.Compare(x.first.cell.Partitions, y.first.cell.Partitions),
			cmp.Compare(rank("point", x.key.point), rank("point", y.key.point)),
		)
	})
}

// firstPhase ranks a metric by its first phase in the catalogue.
func firstPhase(phases map[string]int, k rowKey) int {
	m, _, err := results.FindMetric(k.metric)
	if err != nil {
		return len(phases)
	}
	return phases[m.Name+"."+m.Phases[0].Name]
}
