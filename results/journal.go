package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// journalName is the file of an unfinished run folder that tells how much of it
// counts, should its writer be killed.
const journalName = ".journal"

// journalTrials is what trials.csv was at the checkpoint, while Commit writes it
// anew.
const journalTrials = journalName + "-" + trialsName

// journal is what of an unfinished run folder counts: everything up to a
// checkpoint, and nothing that came after it.
type journal struct {
	Format string `json:"format"` // journalFormat
	// Done counts what the caller has finished; a run with none is not worth
	// keeping.
	Done    int                  `json:"done"`
	State   json.RawMessage      `json:"state"` // the caller's
	Bytes   map[string]int64     `json:"bytes"` // of the files that are appended to
	Rows    int                  `json:"rows"`  // of trials.csv, without its header
	Hlogs   []string             `json:"hlogs"`
	Dropped []journalDroppedRows `json:"dropped,omitempty"`
	Files   []string             `json:"files"` // every file there is, with slashes
}

type journalDroppedRows struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Reason string `json:"reason"`
}

const (
	journalFormat = "kbench-journal-1"
	// maxJournal bounds the journal on reading.
	maxJournal = 256 << 20
)

// Checkpoint makes what was written so far outlive this process, together with
// state, which is the caller's and is given back by Resume. done counts what
// the caller has finished. It fsyncs: call it between measurements.
func (w *Writer) Checkpoint(done int, state any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	j := journal{Format: journalFormat, Done: done, Bytes: map[string]int64{}, Rows: w.rows, Hlogs: w.hlogs}
	var err error
	if j.State, err = json.Marshal(state); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	for _, f := range []*lineFile{w.events, w.metrics, w.trials} {
		at, err := f.file.Seek(0, io.SeekCurrent)
		if err = errors.Join(err, f.file.Sync()); err != nil {
			return fmt.Errorf("write a checkpoint: %w", err)
		}
		j.Bytes[filepath.Base(f.file.Name())] = at
	}
	for _, d := range w.dropped {
		j.Dropped = append(j.Dropped, journalDroppedRows{d.from, d.to, d.reason})
	}
	if j.Files, err = fileNames(w.dir); err == nil {
		err = writeWhole(filepath.Join(w.dir, journalName), j)
	}
	if err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}

// writeWhole replaces a file by the JSON of v, whole or not at all.
func writeWhole(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(path+".new", path), syncDir(filepath.Dir(path)))
}

// endJournal removes what a finished folder needs no more.
func endJournal(dir string) error {
	var errs []error
	for _, name := range []string{journalName, journalTrials} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// fileNames lists the regular files below dir but for those of the writer's
// own, with slashes.
func fileNames(dir string) (out []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if name := filepath.ToSlash(rel); err == nil && name != lockName && !strings.HasPrefix(name, journalName) {
			out = append(out, name)
		}
		return err
	})
	return out, err
}

// Unfinished is a run folder whose writer was killed, or could not finish it.
type Unfinished struct {
	Dir   string
	Done  int             // what its run had finished
	State json.RawMessage // as its last Checkpoint was given it

	journal journal
}

// FindUnfinished reads the unfinished run folder at path; a folder of run
// folders means the only one in it that can be resumed. The error says what is
// there instead. A folder whose run goes on is found too: see Free.
func FindUnfinished(path string) (*Unfinished, error) {
	if _, err := os.Stat(filepath.Join(path, journalName)); err == nil {
		return readUnfinished(path)
	}
	if _, err := os.Stat(filepath.Join(path, manifestName)); err == nil {
		return nil, fmt.Errorf("%s is finished: there is nothing to resume", path)
	}
	dirs, err := filepath.Glob(filepath.Join(globEscape(path), PartialPrefix+"*", journalName))
	if err != nil {
		return nil, fmt.Errorf("look for unfinished runs: %w", err)
	}
	switch len(dirs) {
	case 0:
		return nil, fmt.Errorf("%s holds no unfinished run that can be resumed", path)
	case 1:
		return readUnfinished(filepath.Dir(dirs[0]))
	}
	var names []string
	for _, d := range dirs {
		names = append(names, filepath.Dir(d))
	}
	return nil, fmt.Errorf("%s holds %d unfinished runs; name one of %s", path, len(dirs), strings.Join(names, ", "))
}

func readUnfinished(dir string) (*Unfinished, error) {
	f, err := os.Open(filepath.Join(dir, journalName))
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxJournal))
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	u := &Unfinished{Dir: dir}
	if err := json.Unmarshal(b, &u.journal); err != nil {
		return nil, fmt.Errorf("%s: the journal is damaged: %w", dir, err)
	}
	if u.journal.Format != journalFormat {
		return nil, fmt.Errorf("%s: its journal is %q, and this version reads %q; resume it with the version that wrote it", dir, u.journal.Format, journalFormat)
	}
	u.Done, u.State = u.journal.Done, u.journal.State
	return u, nil
}

// Free is an error where the folder's run goes on, so that it cannot be resumed.
func (u *Unfinished) Free() error {
	lock, err := u.lock()
	if err != nil {
		return err
	}
	return lock.Close()
}

func (u *Unfinished) lock() (*os.File, error) {
	lock, err := holdLock(filepath.Join(u.Dir, lockName))
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: its run goes on: end it before, or wait for it", u.Dir)
	}
	return lock, err
}

// Resume goes on writing an unfinished run folder from its last checkpoint on:
// what came after it is removed. It is an error where its run goes on.
func (u *Unfinished) Resume() (*Writer, error) {
	id := strings.TrimPrefix(filepath.Base(u.Dir), PartialPrefix)
	if i := strings.LastIndexByte(id, '-'); i > 0 { // what made the temporary name unique
		id = id[:i]
	}
	w := &Writer{out: filepath.Dir(u.Dir), id: id, dir: u.Dir, rows: u.journal.Rows, hlogs: u.journal.Hlogs}
	var err error
	if w.lock, err = u.lock(); err != nil {
		return nil, err
	}
	for _, d := range u.journal.Dropped {
		w.dropped = append(w.dropped, droppedRows{d.From, d.To, d.Reason})
	}
	err = u.cut()
	for name, to := range map[string]**lineFile{"events.jsonl": &w.events, "metrics.jsonl": &w.metrics, trialsName: &w.trials} {
		if err == nil {
			*to, err = u.reopen(name)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resume %s: %w", u.Dir, err), w.lock.Close())
	}
	w.csv = newSampleWriter(w.trials.buf)
	return w, nil
}

// reopen opens a file that is appended to, at its length of the checkpoint.
func (u *Unfinished) reopen(name string) (*lineFile, error) {
	f, err := os.OpenFile(filepath.Join(u.Dir, name), os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	size := u.journal.Bytes[name]
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = fmt.Errorf("%s has %d bytes, and %d were written: the folder is damaged", name, info.Size(), size)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lineFile{f, bufio.NewWriterSize(f, 64<<10)}, nil
}

// cut removes what came after the checkpoint but for the ends of files that are
// appended to: what a Commit had begun, files, and the directories that are empty
// without them.
func (u *Unfinished) cut() error {
	err := os.Rename(filepath.Join(u.Dir, journalTrials), filepath.Join(u.Dir, trialsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := fileNames(u.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(u.journal.Files, name) {
			continue
		}
		path := filepath.Join(u.Dir, filepath.FromSlash(name))
		if err := os.Remove(path); err != nil {
			return err
		}
		if dir := filepath.Dir(path); dir != u.Dir && filepath.Base(dir) != nodesName {
			_ = os.Remove(dir) // only where it is empty
		}
	}
	return nil
}
