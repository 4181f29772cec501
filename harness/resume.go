package harness

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"kbench/harness/child"
	"kbench/results"
)

// State is how far a run had come. It is kept beside what was measured, so that
// a run whose kbench was killed, or could not finish it, goes on where it was: see
// Resume.
type State struct {
	Spec        string         `json:"spec"` // normalised YAML
	Name        string         `json:"name"`
	Provider    string         `json:"provider"` // process, docker or results.NoProvider
	ProviderWhy string         `json:"providerWhy,omitempty"`
	DataDir     string         `json:"dataDir"`
	EnvHash     string         `json:"environmentHash"`
	Tool        results.Tool   `json:"tool"`
	Started     time.Time      `json:"started"`
	Owner       string         `json:"owner"`             // the kbench that ran it, a child.Identity: what it left is its own
	Resumed     []string       `json:"resumed,omitempty"` // how it was taken up before, for readers
	Done        int            `json:"done"`              // units
	Cells       []results.Cell `json:"cells"`
	Counted     []int          `json:"counted"` // turns, by cell
}

// Unfinished is a run whose kbench was killed, or could not finish it.
type Unfinished struct {
	State
	Dir string // its run folder under the temporary name

	folder *results.Unfinished
}

// FindUnfinished reads the unfinished run at path, or the only one in that
// folder. It is an error where that run goes on.
func FindUnfinished(path string) (*Unfinished, error) {
	folder, err := results.FindUnfinished(path)
	if err != nil {
		return nil, err
	}
	if err := folder.Free(); err != nil {
		return nil, err
	}
	u := &Unfinished{Dir: folder.Dir, folder: folder}
	if err := json.Unmarshal(folder.State, &u.State); err != nil {
		return nil, fmt.Errorf("%s: the journal is damaged: %w", folder.Dir, err)
	}
	if u.Spec == "" || len(u.Counted) != len(u.Cells) {
		return nil, fmt.Errorf("%s: the journal is damaged", folder.Dir)
	}
	return u, nil
}

// CheckPlace is an error where the run was begun in another environment than that
// of dataDir on this machine: an interrupted machine may have become another one.
func (u *Unfinished) CheckPlace(dataDir string) error {
	env, _ := results.Describe(dataDir)
	if now := env.Hash(); now != u.EnvHash {
		return fmt.Errorf("%s was begun in environment %s, and this is %s: cells of two machines are not one run; begin anew", u.Dir, u.EnvHash, now)
	}
	return nil
}

// begin makes the run folder, or takes up the one that is resumed.
func (r *runner) begin() (err error) {
	u := r.Resume
	if u == nil {
		r.w, err = results.Create(r.Out, r.Name, r.started)
		return err
	}
	if r.w, err = u.folder.Resume(); err != nil {
		return err
	}
	r.Name, r.started, r.done, r.kept = u.Name, u.Started, u.Done, &u.Done
	r.book = book{cells: u.Cells, counted: u.Counted}
	r.tellResumed()
	now := newWallClock()
	return r.w.Event(results.Event{
		MonoNs: now.monoNs, Wall: now.at(now.monoNs), Kind: "run.resumed", Data: map[string]any{"finished": u.Done},
	})
}

// tellResumed tells readers of a run that it was taken up again.
func (r *runner) tellResumed() {
	u := r.Resume
	r.resumed = append(r.resumed, u.Resumed...)
	r.resumed = append(r.resumed, fmt.Sprintf("kbench ended before the run had, which was resumed at %s, after %d of its units", time.Now().UTC().Format(time.RFC3339), u.Done))
	if u.Tool != r.Tool {
		r.resumed = append(r.resumed, fmt.Sprintf("it was begun by kbench %s %s and resumed by %s %s", u.Tool.Version, u.Tool.Commit, r.Tool.Version, r.Tool.Commit))
	}
}

// checkpoint keeps how far the run has come. A run of other units than the
// spec's matrix cannot be resumed: who made them would have to make them again.
func (r *runner) checkpoint(m results.Manifest, done int) {
	if r.Units != nil {
		return
	}
	err := r.w.Checkpoint(done, State{
		Spec: string(r.Spec.YAML()), Name: r.Name, Provider: r.Provider, ProviderWhy: r.ProviderWhy, DataDir: r.DataDir,
		EnvHash: m.Environment.Hash(), Tool: r.Tool, Started: r.started,
		Owner: child.Identity(os.Getpid()), Resumed: r.resumed,
		Done: done, Cells: append([]results.Cell{}, r.book.cells...), Counted: append([]int{}, r.book.counted...),
	})
	if err != nil { // a full disk, mostly: the run goes on, and ends as it can
		r.unkept = cmp.Or(r.unkept, fmt.Errorf("unit %d could not be kept for a run that is resumed: %w", done, err))
		r.say("warning: " + r.unkept.Error())
		return
	}
	r.kept = &done
}

// unfinished says why the run has no verdict and where what it measured is.
func (r *runner) unfinished(err error) error {
	err = fmt.Errorf("the run is invalid: it could not be finished: %w", err)
	if r.kept == nil {
		return fmt.Errorf("%w; what was written until then stays there", err)
	}
	cure := "once that is mended"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		cure = "once there is room"
	}
	return fmt.Errorf("%w; %d of its units are kept, and %s `kbench run --resume %s` goes on after them", err, *r.kept, cure, r.w.Dir())
}
