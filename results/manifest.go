package results

import "time"

// SchemaVersion is the version of the run folder's format. A reader refuses
// newer ones and reads all older ones.
const SchemaVersion = 1

// Verdict says whether a cell's numbers may be used.
type Verdict string

// Invalid is not slow: it means a rule fixed beforehand was broken.
// Inconclusive means that too little was measured to say.
const (
	Valid        Verdict = "valid"
	Invalid      Verdict = "invalid"
	Inconclusive Verdict = "inconclusive"
)

// NoProvider stands for the provider of a run that started no node: it measured a
// cluster that was there.
const NoProvider = "none"

// Manifest is manifest.json: what was run, where, and whether it counts.
type Manifest struct {
	Format        string      `json:"format"`        // "kbench-run"
	SchemaVersion int         `json:"schemaVersion"` // SchemaVersion of the writer
	ID            string      `json:"id"`            // the name of the folder
	Name          string      `json:"name"`          // of the spec
	Started       time.Time   `json:"started"`
	Ended         time.Time   `json:"ended"`
	Interrupted   bool        `json:"interrupted,omitempty"` // ended by a signal; what was measured is kept
	EstimateNs    int64       `json:"estimateNs,omitempty"`  // how long it was expected to take; 0 where that was not said, or it was resumed
	CommandLine   []string    `json:"commandLine"`
	Tool          Tool        `json:"tool"`
	SpecHash      string      `json:"specHash"`
	SpecYAML      string      `json:"specYaml"` // normalised
	Seed          int64       `json:"seed"`
	Provider      string      `json:"provider"`              // process, docker or NoProvider
	ProviderWhy   string      `json:"providerWhy,omitempty"` // why it is that one
	Environment   Environment `json:"environment"`
	EnvHash       string      `json:"environmentHash"`
	Observed      Observed    `json:"observed"`
	Cells         []Cell      `json:"cells"`
	Comparison    *Comparison `json:"comparison,omitempty"` // of interleaved pairs; null for other runs
	Differences   []Contrast  `json:"differences,omitempty"`
	Bounds        []string    `json:"bounds,omitempty"`     // thresholds as the spec writes them
	Thresholds    []Outcome   `json:"thresholds,omitempty"` // set by Commit
	Warnings      []string    `json:"warnings,omitempty"`
	Verdict       Verdict     `json:"verdict"` // set by Commit
	Reasons       []string    `json:"reasons,omitempty"`
	Files         []File      `json:"files"` // everything else in the folder, but for the reports
	// Digest is the SHA-256 of manifest.json with this field empty; "" in
	// folders of a kbench that wrote none.
	Digest string `json:"digest"`
}

// Tool is the kbench that wrote the folder.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"` // built from changed sources
	Go      string `json:"go"`
}

// Cell is one cluster that was measured.
type Cell struct {
	ID         string            `json:"id"`
	Target     string            `json:"target"`
	Variant    string            `json:"variant"` // "base" where none applies
	Point      []Coordinate      `json:"point,omitempty"`
	Partitions int               `json:"partitions"`
	Config     map[string]string `json:"config"` // every setting by path
	Hash       string            `json:"hash"`
	Store      string            `json:"store"`           // where the metadata was, such as "embedded, not replicated"
	Notes      []string          `json:"notes,omitempty"` // what a reader must know, such as a memory file system
	Started    time.Time         `json:"started"`
	Ended      time.Time         `json:"ended"`
	Verdict    Verdict           `json:"verdict"`
	Reasons    []string          `json:"reasons,omitempty"` // why not valid
	Checks     []Check           `json:"checks,omitempty"`
	Attempts   []Attempt         `json:"attempts,omitempty"` // every cluster that was built for the cell
}

// Coordinate is the value of one axis of the sweep.
type Coordinate struct {
	Axis  string `json:"axis"` // setting path, such as cluster.partitions
	Value string `json:"value"`
}

// Check is one invariant and whether it held.
type Check struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Looked int64    `json:"looked"`           // things compared; a check that saw none proves nothing
	Faults []string `json:"faults,omitempty"` // the first of them
	More   int64    `json:"more,omitempty"`   // faults beyond those listed
	Note   string   `json:"note,omitempty"`   // what it did not look at, and why
}

// Contrast is one thing that differs between the sides of the run.
type Contrast struct {
	What   string            `json:"what"`
	Values map[string]string `json:"values"` // by target, and by ContrastKey where a variant differs from its target
}

// ContrastKey names a variant of a target in a Contrast.
func ContrastKey(target, variant string) string { return target + "." + variant }

// Of gives the words for a cell.
func (c Contrast) Of(cell Cell) string {
	if v, ok := c.Values[ContrastKey(cell.Target, cell.Variant)]; ok {
		return v
	}
	return c.Values[cell.Target]
}

// Outcome is what became of a threshold in one cell.
type Outcome struct {
	Threshold string   `json:"threshold"`
	Cell      string   `json:"cell"`
	Value     *float64 `json:"value"` // ns, 1/s or n; null where nothing was measured
	Holds     bool     `json:"holds"` // no data is never a pass
}

// File is one file of the folder, for the reader to miss it.
type File struct {
	Name   string `json:"name"` // with slashes, relative to the folder
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Overall judges a run: by its cells, and invalid where it was interrupted, as it is
// not what was asked for.
func (m *Manifest) Overall() Verdict {
	if m.Interrupted {
		return Invalid
	}
	return Overall(m.Cells)
}

// Overall judges a run by its cells: valid where all are, invalid where one
// is, else inconclusive. A run without cells is inconclusive.
func Overall(cells []Cell) Verdict {
	out := Valid
	for _, c := range cells {
		switch c.Verdict {
		case Invalid:
			return Invalid
		case Valid:
		default:
			out = Inconclusive
		}
	}
	if len(cells) == 0 {
		return Inconclusive
	}
	return out
}
