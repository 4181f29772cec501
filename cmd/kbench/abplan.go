package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kbench/harness"
	"kbench/harness/live"
	"kbench/harness/spec"
	"kbench/results"
	"kbench/results/paired"
	"kbench/results/stat"
)

// maxPairs bounds a comparison; at a minute a pair it is most of a day.
const maxPairs = 1000

// abPlan is a comparison that is about to be run.
type abPlan struct {
	base, variant harness.Side
	comparison    results.Comparison
	units         []harness.Unit
	where         place
	retries       int

	logs map[string][]float64 // log ratios of the primary metric so far, by point
}

// plan reads the specs and orders the pairs. The error lists all faults.
func (f abFlags) plan(cmd *cobra.Command, args []string, margin float64) (*abPlan, error) {
	p := &abPlan{retries: f.retryPairs, logs: make(map[string][]float64)}
	faults := []error{
		results.CheckDir("--out", f.out), results.CheckDir("--data-dir", f.dataDir), f.check(cmd),
		within("--pairs", f.pairs, 1, maxPairs), within("--warmup-pairs", f.warmup, 0, 10), within("--retries", f.retryPairs, 0, 10),
	}
	sidesErr := p.sides(cmd, f, args)
	if err := errors.Join(append(faults, sidesErr)...); err != nil {
		return nil, err
	}
	var err error
	if p.where, err = findPlace(cmd.Context(), p.base.Spec, p.base.Spec.Provider, f.runFlags); err != nil {
		return nil, err
	}
	if p.variant.Spec != p.base.Spec {
		if err := p.where.admit(cmd.Context(), p.variant.Spec); err != nil {
			return nil, err
		}
	}
	c := &p.comparison
	c.Base, c.Variant = describeSide(p.base), describeSide(p.variant)
	c.Pairs, c.Warmup, c.Margin = f.pairs, f.warmup, margin
	metrics, err := p.primary(f.metric)
	if err != nil {
		return nil, err
	}
	if c.Metric = metrics[0]; len(metrics) > 1 {
		c.Metrics = metrics
	}
	p.units, c.Matches, err = harness.Interleave(p.base, p.variant, f.pairs, f.warmup)
	return p, err
}

func within(flag string, v, lo, hi int) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s %d: write %d to %d", flag, v, lo, hi)
	}
	return nil
}

func describeSide(s harness.Side) results.ComparedSide {
	return results.ComparedSide{Name: s.Name, SpecHash: s.Spec.Hash(), SpecYAML: string(s.Spec.YAML())}
}

// sides reads what is compared.
func (p *abPlan) sides(cmd *cobra.Command, f abFlags, args []string) error {
	switch {
	case len(args) == 2 && f.variant != "":
		return errors.New("--variant names a variant of one spec, but there are two; name one")
	case len(args) == 2:
		return p.twoSpecs(cmd, f, args)
	}
	s, err := loadSpec(cmd, f.runFlags, args)
	if err != nil {
		return err
	}
	if f.variant == "" {
		return p.twoTargets(s, args[0])
	}
	p.base = harness.Side{Name: spec.BaseVariant, Spec: s}
	p.variant = harness.Side{Name: f.variant, Spec: s}
	cells := s.Cells()
	for _, c := range cells {
		if c.Variant == f.variant {
			p.variant.Cells = append(p.variant.Cells, c)
			// Targets on which the variant does not act have nothing to compare.
			same := func(b spec.Cell) bool {
				return b.Variant == spec.BaseVariant && b.Target == c.Target && slices.Equal(b.Point, c.Point)
			}
			p.base.Cells = append(p.base.Cells, cells[slices.IndexFunc(cells, same)])
		}
	}
	if len(p.variant.Cells) == 0 {
		var names []string
		for _, v := range s.Variants {
			names = append(names, v.Name)
		}
		return fmt.Errorf("--variant %s: %s", f.variant, didYouMean(f.variant, names, args[0]+" declares "+listed(names)))
	}
	return nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// twoTargets takes the two targets of one spec, the first one as the base.
func (p *abPlan) twoTargets(s *spec.Spec, file string) error {
	if len(s.Targets) != 2 {
		return fmt.Errorf("%s has nothing to be compared with; name a second spec, --variant NAME, two targets, or a run folder", file)
	}
	p.base = harness.Side{Name: string(s.Targets[0]), Spec: s}
	p.variant = harness.Side{Name: string(s.Targets[1]), Spec: s}
	for _, c := range s.Cells() {
		switch {
		case c.Variant != spec.BaseVariant:
		case c.Target == s.Targets[0]:
			p.base.Cells = append(p.base.Cells, c)
		default:
			p.variant.Cells = append(p.variant.Cells, c)
		}
	}
	return nil
}

// twoSpecs takes the cells without a variant of two files. The cells of the
// second one are renamed where both have the same targets.
func (p *abPlan) twoSpecs(cmd *cobra.Command, f abFlags, args []string) error {
	a, err1 := loadSpec(cmd, f.runFlags, args[:1])
	b, err2 := loadSpec(cmd, f.runFlags, args[1:])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if a.Provider != b.Provider {
		return fmt.Errorf("%s runs with provider %s, %s with %s; both sides need one machine: give --provider", args[0], a.Provider, args[1], b.Provider)
	}
	p.base, p.variant = harness.Side{Name: stemOf(args[0]), Spec: a}, harness.Side{Name: stemOf(args[1]), Spec: b}
	if p.base.Name == p.variant.Name {
		p.base.Name, p.variant.Name = "base", "variant"
	}
	rename := ""
	if slices.ContainsFunc(a.Targets, func(t spec.Target) bool { return slices.Contains(b.Targets, t) }) {
		rename = slugOf(p.variant.Name)
	}
	for _, c := range a.Cells() {
		if c.Variant == spec.BaseVariant {
			p.base.Cells = append(p.base.Cells, c)
		}
	}
	for _, c := range b.Cells() {
		if c.Variant != spec.BaseVariant {
			continue
		}
		if rename != "" {
			c = c.As(rename)
		}
		p.variant.Cells = append(p.variant.Cells, c)
	}
	return nil
}

func stemOf(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// slugOf makes a name that cells may have of a file's.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || b.Len() > 0 && (r == '-' || r == '_') {
			b.WriteRune(r)
		}
	}
	if s := b.String(); s != "" && s != spec.BaseVariant {
		return s[:min(len(s), 64)]
	}
	return "variant"
}

// primary are the metrics that decide, in full: named, or the headline of the
// first workload. Both sides must measure them.
func (p *abPlan) primary(names string) ([]string, error) {
	if names == "" {
		for _, m := range results.Metrics() {
			if m.Workload == p.base.Spec.Workloads[0].Kind {
				names = m.Name
				break
			}
		}
	}
	metrics, err := paired.Primary(names)
	if err != nil {
		return nil, fmt.Errorf("--metric: %w", err)
	}
	for _, name := range metrics {
		kind := paired.WorkloadOf(name)
		for _, s := range []harness.Side{p.base, p.variant} {
			if !slices.ContainsFunc(s.Spec.Workloads, func(w spec.Workload) bool { return w.Kind == kind }) {
				return nil, fmt.Errorf("--metric %s: %s does not run %s, which measures it; name another metric or add the workload to both specs", name, s.Name, kind)
			}
		}
	}
	return metrics, nil
}

// estimate guesses how long all pairs take.
func (p *abPlan) estimate() time.Duration {
	var total time.Duration
	for _, u := range p.units {
		for _, t := range u {
			total += estimateCell(t.Cell)
		}
	}
	return total
}

// watched is what the views know beforehand.
func (p *abPlan) watched() live.Plan {
	byID := make(map[string]time.Duration)
	for _, c := range slices.Concat(p.base.Cells, p.variant.Cells) {
		byID[c.ID] = estimateCell(c)
	}
	return live.Plan{
		Name: p.base.Name + " against " + p.variant.Name, Total: p.estimate(),
		Cell: func(id string) time.Duration { return byID[id] },
	}
}

// options is what the harness runs.
func (p *abPlan) options() harness.Options {
	return harness.Options{
		Spec: p.base.Spec, Name: fmt.Sprintf("ab %s vs %s", p.base.Name, p.variant.Name),
		Units: p.units, Retries: p.retries, StopAtLoss: true, Comparison: &p.comparison,
		Tool: tool(), Provider: p.where.provider, ProviderWhy: p.where.why, Warnings: p.where.warnings, Open: p.where.open,
		Began: p.began, Ended: p.ended,
	}
}

// pairOf names a unit: which pair of which point.
func (p *abPlan) pairOf(unit int) (match results.MatchedCell, name string) {
	points := len(p.comparison.Matches)
	match = p.comparison.Matches[unit%points]
	if n := unit/points + 1; n <= p.comparison.Warmup {
		name = fmt.Sprintf("warm-up pair %d/%d at %s", n, p.comparison.Warmup, match.Point)
	} else {
		name = fmt.Sprintf("pair %d/%d at %s", n-p.comparison.Warmup, p.comparison.Pairs, match.Point)
	}
	return match, name
}

func (p *abPlan) began(unit, attempt int) string {
	match, name := p.pairOf(unit)
	first, second := p.base.Name, p.variant.Name
	if p.units[unit][0].Cell.ID == match.Variant {
		first, second = second, first
	}
	line := fmt.Sprintf("%s: %s, then %s", name, first, second)
	if attempt > 1 {
		line += fmt.Sprintf(" (attempt %d)", attempt)
	}
	return line
}

// ended tells a pair's ratio and the estimate so far. Nothing is decided by
// it: the number of pairs is fixed.
func (p *abPlan) ended(unit int, samples []results.Sample) string {
	match, name := p.pairOf(unit)
	m, _, _ := results.FindMetric(p.comparison.Metric)
	value := func(cell string) float64 {
		var v []float64
		for _, s := range samples {
			if s.Cell == cell && s.Valid && s.Metric == p.comparison.Metric && s.Workload == m.Workload {
				v = append(v, s.Value)
			}
		}
		return stat.Median(v)
	}
	a, b := value(match.Base), value(match.Variant)
	if !(a > 0 && b > 0) {
		return "" // by histogram, or zero: the verdict comes at the end
	}
	logs := append(p.logs[match.Point], math.Log(b/a))
	p.logs[match.Point] = logs
	return fmt.Sprintf("%s: %s %s, %s %s, ratio %.3f; so far %.3f, and no verdict before the last pair",
		name, p.base.Name, results.FormatValue(a, m.Unit), p.variant.Name, results.FormatValue(b, m.Unit), b/a, math.Exp(stat.Median(logs)))
}

// dryRun prints both specs and the order of the pairs.
func (p *abPlan) dryRun(w io.Writer) error {
	var b strings.Builder
	for _, s := range []harness.Side{p.base, p.variant} {
		fmt.Fprintf(&b, "# %s, spec hash %s\n%s\n", s.Name, s.Spec.Hash(), s.Spec.YAML())
	}
	plural := ""
	if len(p.comparison.Metrics) > 1 {
		plural = "s"
	}
	fmt.Fprintf(&b, "# primary metric%s %s, same within %v%%, provider %s, about %.0f min:\n", plural, strings.Join(p.comparison.Primary(), ", "), p.comparison.Margin*100, p.where.provider, max(p.estimate().Minutes(), 1))
	for i, u := range p.units {
		_, name := p.pairOf(i)
		fmt.Fprintf(&b, "#   %s: %s, then %s\n", name, u[0].Cell.ID, u[1].Cell.ID)
	}
	for _, warning := range p.where.warnings {
		fmt.Fprintf(&b, "# warning: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
