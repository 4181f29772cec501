package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kbench/results"
)

// Bounds of a spec's lists.
const (
	maxTrials   = 10_000
	maxRepeats  = 1000
	maxRetries  = 10
	maxVariants = 100
	maxAxis     = 100
	maxName     = 100
)

var topKeys = []string{
	"name", "targets", "cluster", "set", "sweep", "workloads", "faults", "variants", "thresholds", "trials", "repeats", "retries", "seed", "provider", "attach",
}

// decoder turns a tree into a Spec and gathers every fault on the way.
type decoder struct {
	faults      Faults
	spec        Spec
	thresholdAt []thresholdPlace // where each threshold was written
	written     []written        // where each fault of the timeline was
	rootAt      Place            // the spec as a whole
}

type thresholdPlace struct {
	at   Place
	path string
}

func (d *decoder) fault(at Place, path, what, cure string) {
	d.faults = append(d.faults, Fault{At: at, Path: path, What: what, Cure: cure})
}

// faultErr reports an error whose text already holds what and cure.
func (d *decoder) faultErr(at Place, path string, err error) {
	d.fault(at, path, err.Error(), "")
}

func (d *decoder) decode(root *node) {
	d.spec = Spec{
		Name: "kbench", Targets: []Target{ZK, KRaft}, Base: defaultConfig(),
		Trials: 3, Repeats: 1, Seed: 1, Provider: ProviderAuto,
	}
	if !d.isKind(root, "", nodeMapping, "write `name: …`, `workloads: …` and so on") {
		return
	}
	for _, f := range d.fields(root, "", topKeys) {
		d.decodeTop(f)
	}
	if root.lookup("workloads") == nil {
		d.fault(root.at, "workloads", "missing", "add `workloads: [{kind: controlled-shutdown}]`; `kbench list` names the kinds")
	}
	d.settle()
}

func (d *decoder) decodeTop(f field) {
	switch f.key {
	case "name":
		d.spec.Name = d.name(f.val, "name")
	case "targets":
		d.targets(f.val)
	case "cluster":
		d.cluster(f.val)
	case "set":
		d.spec.base = append(d.spec.base, d.assignments(f.val, "set")...)
	case "sweep":
		d.sweep(f.val)
	case "workloads":
		d.workloads(f.val)
	case "faults":
		d.timeline(f.val)
	case "variants":
		d.variants(f.val)
	case "thresholds":
		d.thresholds(f.val)
	case "trials":
		d.spec.Trials = int(d.wholeNumber(f.val, "trials", 1, maxTrials, int64(d.spec.Trials)))
	case "repeats":
		d.spec.Repeats = int(d.wholeNumber(f.val, "repeats", 1, maxRepeats, int64(d.spec.Repeats)))
	case "retries":
		d.spec.Retries = int(d.wholeNumber(f.val, "retries", 0, maxRetries, int64(d.spec.Retries)))
	case "seed":
		d.spec.Seed = d.wholeNumber(f.val, "seed", 0, math.MaxInt64, d.spec.Seed)
	case "attach":
		d.attach(f.val)
	case "provider":
		names := []string{string(ProviderAuto), string(ProviderProcess), string(ProviderDocker)}
		if text, ok := d.scalar(f.val, "provider"); ok && d.oneOf(f.val, "provider", text, names) {
			d.spec.Provider = Provider(text)
		}
	}
}

// isKind judges the shape of a value.
func (d *decoder) isKind(n *node, path string, want nodeKind, cure string) bool {
	if n.kind == want {
		return true
	}
	d.fault(n.at, path, fmt.Sprintf("is %s where %s belongs", n.kind, want), cure)
	return false
}

// scalar returns the text of a single value.
func (d *decoder) scalar(n *node, path string) (string, bool) {
	return n.text, d.isKind(n, path, nodeScalar, "write one value after the colon")
}

// oneOf judges a word of a closed set.
func (d *decoder) oneOf(n *node, path, text string, names []string) bool {
	if slices.Contains(names, text) {
		return true
	}
	d.fault(n.at, path, fmt.Sprintf("unknown value %q", text), didYouMean(text, names))
	return false
}

// fields returns the fields of a mapping, known keys only and each once, and
// reports the rest. known nil lets every key through.
func (d *decoder) fields(n *node, path string, known []string) []field {
	var out []field
	first := make(map[string]Place, len(n.fields))
	for _, f := range n.fields {
		full := join(path, f.key)
		if before, double := first[f.key]; double {
			d.fault(f.at, full, fmt.Sprintf("is written twice, first on line %d and again on line %d", before.Line, f.at.Line), "keep one")
			continue
		}
		first[f.key] = f.at
		if known != nil && !slices.Contains(known, f.key) {
			d.fault(f.at, full, "unknown key", cureUnknownKey(path, f.key, known))
			continue
		}
		out = append(out, f)
	}
	return out
}

// cureUnknownKey looks for a misspelt key here and, at the top of the spec, in
// the sections where a setting may have been meant.
func cureUnknownKey(path, key string, known []string) string {
	if Suggest(key, known) == "" && path == "" {
		if s := Suggest(key, settingPaths(true)); s != "" {
			return fmt.Sprintf("did you mean %q? it belongs in cluster, set or sweep", s)
		}
	}
	return didYouMean(key, known)
}

func join(path, key string) string {
	switch {
	case path == "":
		return key
	case key == "":
		return path
	}
	return path + "." + key
}

func (d *decoder) name(n *node, path string) string {
	text, ok := d.scalar(n, path)
	switch {
	case !ok:
	case strings.TrimSpace(text) == "":
		d.fault(n.at, path, "is empty", "write a short name")
	case len(text) > maxName:
		d.fault(n.at, path, fmt.Sprintf("is longer than %d bytes", maxName), "write a short name")
	case strings.Map(oneLine, text) != text:
		d.fault(n.at, path, "holds control characters", "write one line of text")
	}
	return text
}

func (d *decoder) wholeNumber(n *node, path string, lo, hi, fallback int64) int64 {
	text, ok := d.scalar(n, path)
	if !ok {
		return fallback
	}
	v, err := parseCount(text)
	switch {
	case err != nil:
		d.faultErr(n.at, path, err)
	case v < lo:
		d.fault(n.at, path, formatCount(v)+" is too small", "write at least "+formatCount(lo))
	case v > hi:
		d.fault(n.at, path, formatCount(v)+" is too large", "write at most "+formatCount(hi))
	default:
		return v
	}
	return fallback
}

// list returns the items of a list. A single value is refused rather than
// guessed to be a list of one.
func (d *decoder) list(n *node, path, example string, most int) []*node {
	if !d.isKind(n, path, nodeList, "write "+example) {
		return nil
	}
	if len(n.items) == 0 {
		d.fault(n.at, path, "is empty", "write "+example+" or leave the key out")
	}
	if len(n.items) > most {
		d.fault(n.at, path, fmt.Sprintf("has %d entries", len(n.items)), fmt.Sprintf("write at most %d", most))
		return nil
	}
	return n.items
}

func (d *decoder) targets(n *node) {
	var targets []Target
	for i, item := range d.list(n, "targets", "[zk, kraft]", 20) {
		path := fmt.Sprintf("targets[%d]", i)
		text, ok := d.scalar(item, path)
		if !ok {
			continue
		}
		t, err := parseTarget(text)
		switch {
		case err != nil:
			d.faultErr(item.at, path, err)
		case slices.Contains(targets, t):
			d.fault(item.at, path, fmt.Sprintf("target %q is listed twice", text), "keep one")
		default:
			targets = append(targets, t)
		}
	}
	if len(targets) > 0 {
		d.spec.Targets = targets
	}
}

func (d *decoder) thresholds(n *node) {
	for i, item := range d.list(n, "thresholds", "['kraft: recovery.controller.median < 4s']", 200) {
		path := fmt.Sprintf("thresholds[%d]", i)
		text, ok := d.scalar(item, path)
		if !ok {
			continue
		}
		t, err := results.ParseThreshold(text)
		if err != nil {
			d.faultErr(item.at, path, err)
			continue
		}
		d.thresholdAt = append(d.thresholdAt, thresholdPlace{item.at, path})
		d.spec.Thresholds = append(d.spec.Thresholds, t)
	}
}
