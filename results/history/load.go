package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"kbench/results"
)

// Loaded is what Load gives.
type Loaded struct {
	Path    string
	Series  []Series // by cell, then in the catalogue's order
	Accepts []Accept // by the instants of their runs
	Notes   []string // what a user should know
}

// Load reads the series of every figure. It takes them from the index where
// that describes the file, adds to the index what was appended to the file,
// and makes it anew where it is missing, damaged or of another file. Where the
// directory cannot be written it works without. The answer is the same in all
// cases: the file's.
func Load(path string) (Loaded, error) {
	path = Locate(path)
	out := Loaded{Path: path}
	x, err := openIndex(path, true)
	damaged := err != nil && !errors.Is(err, fs.ErrNotExist)
	if err == nil {
		err = out.fromIndex(x)
		damaged = err != nil && !errors.Is(err, errStale)
		err = errors.Join(err, x.db.Close())
	}
	if err != nil {
		err = out.fromFile(path, damaged)
	}
	sortSeries(out.Series)
	return out, err
}

// errStale means that the file is not what the index describes.
var errStale = errors.New("the index is stale")

func (l *Loaded) fromIndex(x *index) error {
	f, err := openLocked(l.Path, os.O_RDONLY)
	if err != nil {
		return errors.Join(err, errStale) // fromFile says it better
	}
	defer func() { _ = f.Close() }()
	if now, err := quickStamp(f); err != nil || !x.describes(now) {
		return errors.Join(err, errStale)
	}
	l.Series, l.Accepts, err = x.read()
	return err
}

// fromFile reads the file and, unless its last line is torn, brings the index
// up to date.
func (l *Loaded) fromFile(path string, damaged bool) error {
	src, info, notes, err := slurp(path)
	if err != nil {
		return err
	}
	l.Notes = append(l.Notes, notes...)
	at := stampOf(src, info.ModTime())
	if !damaged {
		if done, err := l.append(src, at); done || err != nil {
			return err
		}
	}
	f, err := decode(path, src)
	if err != nil {
		return err
	}
	log := f.log(path)
	l.Series, l.Accepts, l.Notes = log.Series(), log.Accepts, append(l.Notes, log.Notes...)
	if f.unterm || len(f.torn) > 0 {
		return nil
	}
	// The index only makes the next reading faster: where it cannot be
	// written the history is read whole.
	if err := buildIndex(path, &f, at); err == nil && damaged {
		l.Notes = append(l.Notes, fmt.Sprintf("%s was damaged and has been made anew", path+indexSuffix))
	}
	return nil
}

// append adds to the index what was appended to the file since. done is false
// where the index is of another file or cannot be written.
func (l *Loaded) append(src []byte, at stamp) (done bool, err error) {
	x, err := openIndex(l.Path, false)
	if err != nil {
		return false, nil
	}
	defer func() { _ = x.db.Close() }()
	if !x.begins(src) {
		return false, nil
	}
	f, err := decode(l.Path, src[x.at.size:])
	if err != nil || f.unterm || len(f.torn) > 0 {
		return false, nil // line numbers are those of the whole file
	}
	if err := x.insert(f.lines, at); err != nil {
		return false, nil
	}
	l.Series, l.Accepts, err = x.read()
	return err == nil, nil
}

func compareReadings(a, b Reading) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Digest, b.Digest))
}

// sortSeries orders by partitions, cell and the catalogue of metrics; of one
// figure the series that ended last comes first. What is a headline is for
// this version to say, not for that which wrote the line.
func sortSeries(series []Series) {
	for i := range series {
		if m, phase, err := results.FindMetric(series[i].Name()); err == nil {
			series[i].Headline = phase == m.Headline
		}
	}
	rank := make(map[string]int)
	for i, m := range results.Metrics() {
		for j, p := range m.Phases {
			rank[m.Name+"."+p.Name] = i*1000 + j
		}
	}
	slices.SortFunc(series, func(a, b Series) int {
		return cmp.Or(
			cmp.Compare(a.Partitions, b.Partitions), cmp.Compare(a.Cell, b.Cell),
			cmp.Compare(rank[a.Name()], rank[b.Name()]), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Workload, b.Workload),
			b.last().Compare(a.last()), cmp.Compare(a.Comparable, b.Comparable),
		)
	})
}
