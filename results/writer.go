package results

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Names in the folder that receives run folders.
const (
	PartialPrefix = ".partial-" // run folders that are being written, or were left behind
	LatestLink    = "latest"
)

// ReportNames are the derived files of a run folder: JSON, Markdown and HTML.
// They are made anew at any time, so that the manifest does not list them.
var ReportNames = []string{"report.json", "report.md", "report.html"}

const (
	manifestName = "manifest.json"
	trialsName   = "trials.csv"
	nodesName    = "nodes"
)

// Writer writes one run folder: under a temporary name until Commit. Its
// methods may be called from any goroutine; after Commit or Abandon they fail.
type Writer struct {
	out string // receives run folders
	id  string
	dir string // the temporary name

	lock *os.File // held while the folder is written, so that SweepPartials spares it

	mu      sync.Mutex
	closed  bool
	failed  error // the first write that failed: what came since has a gap
	events  *lineFile
	metrics *lineFile
	trials  *lineFile
	csv     *csv.Writer
	rows    int      // of trials.csv, without its header
	hlogs   []string // file names, in the order written
	dropped []droppedRows
}

// lineFile is a buffered file of the folder.
type lineFile struct {
	file *os.File
	buf  *bufio.Writer
}

// CheckDir judges, without leaving anything behind, whether files can be
// written into dir, which need not exist. flag names it in messages.
func CheckDir(flag, dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is empty; name a directory", flag)
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s %s is a file; name a directory", flag, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: %w; name a directory that can be written", flag, dir, errors.Unwrap(err))
	}
	if link, lerr := os.Lstat(dir); err != nil && lerr == nil && link.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s %s is a link that leads nowhere; remove it or name another directory", flag, dir)
	}
	parent := existingParent(dir)
	// Asking by a real file also finds read-only file systems and, for root,
	// directories that only look writable.
	f, err := os.CreateTemp(parent, PartialPrefix+"probe-*")
	if err != nil {
		return fmt.Errorf("%s %s cannot be written: %w; name another directory", flag, dir, errors.Unwrap(err))
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// Create starts a run folder in out, which is made where absent. name is any
// text; the folder is named by started and the letters of name.
func Create(out, name string, started time.Time) (*Writer, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", out, err)
	}
	id := runID(name, started)
	dir, err := os.MkdirTemp(out, PartialPrefix+id+"-*")
	if err != nil {
		return nil, fmt.Errorf("make a run folder: %w", err)
	}
	w := &Writer{out: out, id: id, dir: dir}
	if err := w.open(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := os.Chmod(w.dir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(w.dir, nodesName), 0o755); err != nil {
		return err
	}
	var err error
	if w.lock, err = holdLock(filepath.Join(w.dir, lockName)); err != nil {
		return err
	}
	for name, to := range map[string]**lineFile{"events.jsonl": &w.events, "metrics.jsonl": &w.metrics, trialsName: &w.trials} {
		f, err := os.Create(filepath.Join(w.dir, name))
		if err != nil {
			return fmt.Errorf("make the run folder: %w", err)
		}
		*to = &lineFile{f, bufio.NewWriterSize(f, 64<<10)}
	}
	w.csv, err = sampleWriter(w.trials.buf)
	return err
}

// runID names a run by its start and the letters of its name.
func runID(name string, started time.Time) string {
	id := started.UTC().Format("20060102T150405Z")
	if s := slug(name); s != "" {
		id += "-" + s
	}
	return id
}

// slug makes a file name of any text: letters, digits and dashes, at most 40.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// Dir is where the folder is while it is written.
func (w *Writer) Dir() string { return w.dir }

// NodesDir makes and returns the directory for the logs and traces of one
// cell's nodes.
func (w *Writer) NodesDir(cell string) (string, error) {
	dir := filepath.Join(w.dir, nodesName, filepath.Base(filepath.Clean("/"+cell)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of node logs: %w", err)
	}
	return dir, nil
}

// Event appends to events.jsonl.
func (w *Writer) Event(e Event) error { return w.line(w.events, e) }

// Metric appends a line to metrics.jsonl: what one node used at one time.
func (w *Writer) Metric(v any) error { return w.line(w.metrics, v) }

func (w *Writer) line(f *lineFile, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(f.file.Name()), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	_, err = f.buf.Write(append(b, '\n'))
	return err
}

var errClosed = errors.New("the run folder is closed")

// Sample appends to trials.csv. An impossible value is refused.
func (w *Writer) Sample(s Sample) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("write a sample: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.rows++
	return w.csv.Write(s.row())
}

// Hlog writes <cell>.<name>.hlog, once for each cell and name. Logs named by
// HlogFigure enter the figures, each interval as the phase that its tag names;
// others are raw material.
func (w *Writer) Hlog(cell, name string, intervals []Interval) error {
	file := hlogName(cell, name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	f, err := os.OpenFile(filepath.Join(w.dir, file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return w.fail(fmt.Errorf("write histograms: %w", err))
	}
	buf := bufio.NewWriter(f)
	if err := errors.Join(writeHlog(buf, intervals), buf.Flush(), f.Close()); err != nil {
		return w.fail(fmt.Errorf("write %s: %w", file, err))
	}
	w.hlogs = append(w.hlogs, file)
	return nil
}

// HlogFigure names the log of a metric as a workload measured it in one
// repeat, from 1.
func HlogFigure(workload, metric string, repeat int) string {
	return fmt.Sprintf("%s.%s.%d", workload, metric, repeat)
}

// parseHlogFigure undoes HlogFigure. ok is false for raw material.
func parseHlogFigure(name string) (workload, metric string, ok bool) {
	head, number, ok := cutLast(name)
	if n, err := strconv.Atoi(number); !ok || err != nil || n < 1 {
		return "", "", false
	}
	workload, metric, ok = strings.Cut(head, ".")
	return workload, metric, ok && isMetric(metric)
}

const hlogSuffix = ".hlog"

func hlogName(cell, name string) string {
	return strings.NewReplacer("/", "_", "\\", "_", "\x00", "_").Replace(cell + "." + name + hlogSuffix)
}

// fail keeps the first error of a write.
func (w *Writer) fail(err error) error {
	w.failed = cmp.Or(w.failed, err)
	return err
}

// Flush hands what was written to the kernel, so that a later SIGKILL of the
// harness loses none of it. Once a write has failed, it fails, as Commit does: the
// folder has a gap, and can only be resumed from its last Checkpoint.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if w.failed != nil {
		return w.failed
	}
	w.csv.Flush()
	errs := []error{w.csv.Error()}
	for _, f := range []*lineFile{w.events, w.metrics, w.trials} {
		errs = append(errs, f.buf.Flush())
	}
	return w.fail(errors.Join(errs...))
}

// close flushes and fsyncs everything, once.
func (w *Writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.closed = true
	errs := []error{w.flush()}
	for _, f := range []*lineFile{w.events, w.metrics, w.trials} {
		errs = append(errs, f.file.Sync(), f.file.Close())
	}
	return errors.Join(errs...)
}

// Abandon removes the folder unfinished. After Commit it does nothing.
func (w *Writer) Abandon() error {
	if err := w.close(); errors.Is(err, errClosed) {
		return nil
	}
	return errors.Join(os.RemoveAll(w.dir), w.lock.Close())
}

// Commit completes the manifest (files, hashes, thresholds, the verdict over
// all cells), fsyncs, gives the folder its name and points
// `latest` at it. An existing folder is never touched: a number is added to
// the name. On an error the folder keeps its temporary name, which the error
// tells, and can be resumed from its last Checkpoint.
func (w *Writer) Commit(m Manifest) (path string, err error) {
	defer func() { _ = w.lock.Close() }()
	if err := w.close(); err != nil {
		return "", fmt.Errorf("write %s: %w", w.dir, err)
	}
	m.Format, m.SchemaVersion = "kbench-run", SchemaVersion
	m.EnvHash = m.Environment.Hash()
	path, err = w.reserve()
	if err != nil {
		return "", err
	}
	m.ID = filepath.Base(path)
	err = w.finish(m)
	if err == nil {
		// rename(2) replaces the empty directory; os.Rename would refuse to.
		err = unix.Rename(w.dir, path)
	}
	if err != nil {
		_ = os.Remove(path) // the reservation; a directory with content stays
		return "", fmt.Errorf("finish %s: %w", w.dir, err)
	}
	return path, w.pointLatest(m.ID)
}

// reserve makes an empty directory of the final name, which rename replaces.
// Making it is atomic, so that two runs cannot take the same.
func (w *Writer) reserve() (string, error) {
	const most = 1000
	for n := 1; n <= most; n++ {
		path := filepath.Join(w.out, w.id)
		if n > 1 {
			path = fmt.Sprintf("%s-%d", path, n)
		}
		err := os.Mkdir(path, 0o755)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("name the run folder %s: %w", w.dir, err)
		}
	}
	return "", fmt.Errorf("%s has %d folders named %s already; %s keeps its name", w.out, most, w.id, w.dir)
}

func (w *Writer) finish(m Manifest) error {
	err := w.markDropped()
	if err != nil {
		return err
	}
	if m.Files, err = listFiles(w.dir); err != nil {
		return err
	}
	if err := m.judge(w.dir); err != nil {
		return err
	}
	b, err := m.sealed()
	if err != nil {
		return err
	}
	if err := writeManifest(filepath.Join(w.dir, manifestName), b); err != nil {
		return err
	}
	return errors.Join(endJournal(w.dir), os.Remove(filepath.Join(w.dir, lockName)), syncDir(w.dir))
}

// writeManifest writes the file whole or leaves none: a torn one would say that
// the folder is finished.
func writeManifest(path string, b []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// pointLatest replaces the link by renaming, so that it always leads
// somewhere. Anything else of that name is left alone.
func (w *Writer) pointLatest(id string) error {
	link := filepath.Join(w.out, LatestLink)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	tmp := filepath.Join(w.out, PartialPrefix+"latest-"+id)
	if err := os.Symlink(id, tmp); err != nil {
		return fmt.Errorf("point %s at the run: %w", link, err)
	}
	if err := os.Rename(tmp, link); err != nil {
		return fmt.Errorf("point %s at the run: %w", link, err)
	}
	return syncDir(w.out)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// listFiles describes every file under dir, sorted by name.
func listFiles(dir string) ([]File, error) {
	var out []File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == manifestName || rel == lockName || strings.HasPrefix(rel, journalName) || slices.Contains(ReportNames, rel) {
			return err
		}
		size, sum, err := digestFile(path)
		out = append(out, File{Name: filepath.ToSlash(rel), Bytes: size, SHA256: sum})
		return err
	})
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func digestFile(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}
