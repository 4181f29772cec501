package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Run is a run folder, read. Its slices must not be written to.
type Run struct {
	Dir      string
	Manifest Manifest
	Samples  []Sample

	hlogs map[string][]Interval // of a run that no folder holds, by file name
}

// maxManifest bounds the manifest on reading: about 10,000 cells.
const maxManifest = 64 << 20

// Open reads the run folder at path; a folder of run folders means its latest.
// The error names what is wrong: not a run folder, unfinished, truncated,
// half-deleted or newer than this version.
func Open(path string) (*Run, error) {
	dir, err := findRun(path)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := checkFiles(dir, m.Files); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	r := &Run{Dir: dir, Manifest: m}
	if r.Samples, err = readAt(dir, trialsName, readSamples); err != nil {
		return nil, err
	}
	for _, s := range r.Samples {
		if !slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.ID == s.Cell }) {
			return nil, fmt.Errorf("%s: trials.csv has samples of cell %q, which the manifest does not list", dir, s.Cell)
		}
	}
	return r, nil
}

// findRun turns what a user names into the directory of a run.
func findRun(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: no such run folder; `kbench run` writes them to kbench-results", path)
	case err != nil:
		return "", fmt.Errorf("open a run folder: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file; name the run folder, a directory with a %s", path, manifestName)
	}
	if _, err := os.Stat(filepath.Join(path, manifestName)); err == nil {
		return path, nil
	}
	if strings.HasPrefix(filepath.Base(path), PartialPrefix) {
		return "", fmt.Errorf("%s was never finished: its run was killed or still goes on; `kbench run --resume %s` goes on with it, `kbench clean --all` removes it", path, path)
	}
	latest := filepath.Join(path, LatestLink)
	if _, err := os.Stat(filepath.Join(latest, manifestName)); err == nil {
		resolved, err := filepath.EvalSymlinks(latest)
		if err != nil {
			return "", fmt.Errorf("follow %s: %w", latest, err)
		}
		return resolved, nil
	}
	return "", fmt.Errorf("%s is no run folder: it has no %s", path, manifestName)
}

// manifestText reads manifest.json as it is.
func manifestText(dir string) ([]byte, error) {
	path := filepath.Join(dir, manifestName)
	// Opening a pipe would wait for somebody to write into it.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", manifestName)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxManifest:
		return nil, fmt.Errorf("%s is larger than %d MB", manifestName, maxManifest>>20)
	case len(b) == 0:
		return nil, fmt.Errorf("%s is empty; the folder is damaged", manifestName)
	}
	return b, nil
}

func readManifest(dir string) (Manifest, error) {
	b, err := manifestText(dir)
	if err != nil {
		return Manifest{}, err
	}
	// The head first: a newer version may have changed everything else.
	var head struct {
		Format        string `json:"format"`
		SchemaVersion int    `json:"schemaVersion"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Manifest{}, fmt.Errorf("%s is truncated or damaged: %w", manifestName, err)
	}
	switch {
	case head.Format != "kbench-run":
		return Manifest{}, fmt.Errorf("%s is not of kbench: its format is %q, not %q", manifestName, head.Format, "kbench-run")
	case head.SchemaVersion > SchemaVersion:
		return Manifest{}, fmt.Errorf("written by a newer kbench (schema %d, this one reads up to %d); read it with that version", head.SchemaVersion, SchemaVersion)
	case head.SchemaVersion < 1:
		return Manifest{}, fmt.Errorf("%s has schema version %d, which never was", manifestName, head.SchemaVersion)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s is damaged: %w", manifestName, err)
	}
	if err := checkCells(m.Cells); err != nil {
		return Manifest{}, fmt.Errorf("%s is damaged: %w", manifestName, err)
	}
	return m, nil
}

// checkCells finds what no run writes, and what would be counted twice.
func checkCells(cells []Cell) error {
	seen := make(map[string]bool, len(cells))
	for i, c := range cells {
		switch {
		case c.ID == "":
			return fmt.Errorf("cell %d of %d has no id", i+1, len(cells))
		case seen[c.ID]:
			return fmt.Errorf("cell %q is there twice", c.ID)
		case c.Partitions < 0:
			return fmt.Errorf("cell %q has %d partitions", c.ID, c.Partitions)
		}
		seen[c.ID] = true
	}
	return nil
}

// checkFiles finds files that are missing or of another size.
func checkFiles(dir string, files []File) error {
	var missing, changed []string
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("the manifest lists %q, which lies outside the folder", f.Name)
		}
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Name)))
		switch {
		case err != nil:
			missing = append(missing, f.Name)
		case info.Size() != f.Bytes:
			changed = append(changed, fmt.Sprintf("%s (%d bytes, was %d)", f.Name, info.Size(), f.Bytes))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d files are missing: %s; the folder was half deleted or half copied", len(missing), len(files), few(missing))
	}
	if len(changed) > 0 {
		return fmt.Errorf("%d of %d files were changed or truncated: %s", len(changed), len(files), few(changed))
	}
	return nil
}

// few lists up to three names.
func few(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
}

func readAt[T any](dir, name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return none, fmt.Errorf("%s: %w", dir, err)
	}
	defer f.Close()
	v, err := read(f)
	if err != nil {
		return none, fmt.Errorf("%s: %s is damaged: %w", dir, name, err)
	}
	return v, nil
}

// Events reads events.jsonl.
func (r *Run) Events() ([]Event, error) {
	if r.Dir == "" {
		return nil, errNoFolder
	}
	return readAt(r.Dir, "events.jsonl", readLines[Event])
}

// HlogNames lists the .hlog files, sorted.
func (r *Run) HlogNames() []string {
	names := slices.Sorted(maps.Keys(r.hlogs))
	for _, f := range r.Manifest.Files {
		if strings.HasSuffix(f.Name, hlogSuffix) && !strings.Contains(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	return names
}

// Hlog reads the histograms that were written for a cell under a name.
func (r *Run) Hlog(cell, name string) ([]Interval, error) {
	if intervals, ok := r.hlogs[hlogName(cell, name)]; ok {
		return intervals, nil
	}
	return readAt(r.Dir, hlogName(cell, name), readIntervals)
}

// eachInterval hands the histograms of Hlog to f one by one.
func (r *Run) eachInterval(cell, name string, f func(Interval) error) error {
	if intervals, ok := r.hlogs[hlogName(cell, name)]; ok {
		for _, iv := range intervals {
			if err := f(iv); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := readAt(r.Dir, hlogName(cell, name), func(src io.Reader) (struct{}, error) { return struct{}{}, readHlog(src, f) })
	return err
}

// VerifyFiles compares every file, the manifest among them, with the digest
// taken when it was written.
func (r *Run) VerifyFiles() error {
	text, err := manifestText(r.Dir)
	if err == nil {
		err = checkSeal(text, r.Manifest.Digest)
	}
	errs := []error{err}
	for _, f := range r.Manifest.Files {
		_, sum, err := digestFile(filepath.Join(r.Dir, filepath.FromSlash(f.Name)))
		switch {
		case err != nil:
			errs = append(errs, err)
		case sum != f.SHA256:
			errs = append(errs, fmt.Errorf("%s is not what the run wrote", f.Name))
		}
	}
	return errors.Join(errs...)
}
