package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// line is one line of the file, decoded: a night or an accepted change.
type line struct {
	number int
	raw    []byte // without its end; of the file's buffer
	night  *Night
	accept *Accept
}

// file is a history as it lies on disk.
type file struct {
	lines  []line
	torn   []byte // what stands after the last whole line and was cut short
	unterm bool   // the last line is whole and lacks only its newline
}

// maxFaults bounds how many damaged lines an error lists.
const maxFaults = 5

// decode reads every line, on all cores. Its error lists damaged lines with
// their numbers and cures; path is for it.
func decode(path string, src []byte) (file, error) {
	var f file
	src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	body, tail := src, []byte(nil)
	if end := bytes.LastIndexByte(src, '\n'); end < len(src)-1 {
		body, tail = src[:end+1], src[end+1:]
	}
	for n, raw := range bytes.Split(body, []byte("\n")) {
		if raw = bytes.TrimSuffix(raw, []byte("\r")); len(raw) > 0 {
			f.lines = append(f.lines, line{number: n + 1, raw: raw})
		}
	}
	faults := f.decodeAll()
	if len(tail) > 0 {
		last := line{number: bytes.Count(body, []byte("\n")) + 1, raw: tail}
		switch err := last.decode(); {
		case err == nil:
			f.lines, f.unterm = append(f.lines, last), true
		case isTorn(tail):
			f.torn = tail
		default:
			faults = append(faults, fault{last.number, err})
		}
	}
	return f, asError(path, faults)
}

// byteOrderMark is what some editors put before a text of UTF-8.
const byteOrderMark = "\ufeff"

// isTorn proves that a crash cut the text short: it is the beginning of a line
// of this format, or blocks that the file system had reserved and not filled.
func isTorn(tail []byte) bool {
	const begins = `{"at":"`
	n := min(len(tail), len(begins))
	return string(tail[:n]) == begins[:n] && !json.Valid(tail) || len(bytes.Trim(tail, "\x00")) == 0
}

type fault struct {
	number int
	err    error
}

func (f *file) decodeAll() []fault {
	const chunk = 16
	var (
		mu     sync.Mutex
		next   int
		faults []fault
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				part := f.lines[next:min(next+chunk, len(f.lines))]
				next += len(part)
				mu.Unlock()
				if len(part) == 0 {
					return
				}
				for i := range part {
					if err := part[i].decode(); err != nil {
						mu.Lock()
						faults = append(faults, fault{part[i].number, err})
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(faults, func(a, b fault) int { return a.number - b.number })
	return faults
}

func asError(path string, faults []fault) error {
	var errs []error
	for i, f := range faults {
		if i == maxFaults {
			errs = append(errs, fmt.Errorf("%s: %d more lines are damaged", path, len(faults)-i))
			break
		}
		errs = append(errs, fmt.Errorf("%s:%d: %w", path, f.number, f.err))
	}
	return errors.Join(errs...)
}

// head is what every version of a line has.
type head struct {
	Format int    `json:"kbenchHistory"`
	Kind   string `json:"kind"`
}

// runOfThisVersion is what Add writes at the beginning of a run's line.
var runOfThisVersion = fmt.Appendf(nil, `"kbenchHistory":%d,"kind":"%s"`, FormatVersion, kindRun)

func (l *line) decode() error {
	if isConflict(l.raw) {
		return errors.New("a conflict marker of git; keep the lines of both sides and remove the three marker lines (`merge=union` in .gitattributes does so by itself)")
	}
	// Most lines are runs of this version, which are read once, not twice.
	if bytes.Contains(l.raw[:min(len(l.raw), 100)], runOfThisVersion) {
		n := new(Night)
		if json.Unmarshal(l.raw, n) == nil && n.check() == nil {
			l.night = n
			return nil
		}
	}
	var h head
	if err := json.Unmarshal(l.raw, &h); err != nil {
		return fmt.Errorf("not a line of a history: %w; restore it from git, or remove it and add its run again", err)
	}
	switch {
	case h.Format == 0:
		return errors.New("JSON of something else: it has no kbenchHistory version; remove the line")
	case h.Format > FormatVersion:
		return fmt.Errorf("written by a newer kbench (format %d, this one reads up to %d); read it with that version", h.Format, FormatVersion)
	case h.Format < 0:
		return fmt.Errorf("format %d never was; remove the line", h.Format)
	}
	var err error
	switch h.Kind {
	case kindRun:
		l.night = new(Night)
		if err = json.Unmarshal(l.raw, l.night); err == nil {
			err = l.night.check()
		}
	case kindAccept:
		l.accept = new(Accept)
		if err = json.Unmarshal(l.raw, l.accept); err == nil {
			err = l.accept.check()
		}
	default:
		return fmt.Errorf("unknown kind %q; it is %s or %s", h.Kind, kindRun, kindAccept)
	}
	if err != nil {
		return fmt.Errorf("damaged: %w; restore the line from git, or remove it and add its run again", err)
	}
	return nil
}

// isConflict knows the markers that git leaves in a file it could not merge.
func isConflict(raw []byte) bool {
	for _, marker := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if text := string(raw[:min(len(raw), 8)]); strings.TrimSuffix(text, " ") == marker {
			return true
		}
	}
	return false
}

// log puts the lines in order. A line that stands twice counts once.
func (f *file) log(path string) *Log {
	l := &Log{Path: path, known: make(map[identity]bool, len(f.lines))}
	for i := range f.lines {
		switch n := f.lines[i].night; {
		case n == nil:
			l.InsertAccept(*f.lines[i].accept)
		case !l.known[n.identity()]:
			l.known[n.identity()] = true
			l.Nights = append(l.Nights, n)
		}
	}
	slices.SortStableFunc(l.Nights, compareNights)
	if len(f.torn) > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: the last line was cut short after %d bytes, by a crash or a full disk; it is passed over, and the next `kbench history add` moves it to %s", path, len(f.torn), tornPath(path)))
	}
	return l
}
