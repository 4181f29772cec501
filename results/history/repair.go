package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tornPath is where the beginnings of lines go that a crash cut short.
func tornPath(path string) string { return path + ".torn" }

// repair ends the file with a whole line, under the lock. The beginning of a
// line that was cut short is kept beside the file before it is cut off, so
// that a second crash meanwhile loses nothing either.
func (f *file) repair(to *os.File, path string, notes *[]string) error {
	if f.unterm {
		if _, err := to.Write([]byte("\n")); err != nil {
			return fmt.Errorf("end the last line of the history: %w", err)
		}
		return nil
	}
	if len(f.torn) == 0 {
		return nil
	}
	aside := tornPath(path)
	side, err := os.OpenFile(aside, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("move a torn line aside: %w", err)
	}
	_, err = side.Write(append(f.torn[:len(f.torn):len(f.torn)], '\n'))
	if err := errors.Join(err, side.Sync(), side.Close()); err != nil {
		return fmt.Errorf("move a torn line aside: %w", err)
	}
	info, err := to.Stat()
	if err != nil {
		return err
	}
	if err := errors.Join(to.Truncate(info.Size()-int64(len(f.torn))), to.Sync()); err != nil {
		return fmt.Errorf("cut a torn line off: %w", err)
	}
	*notes = append(*notes, fmt.Sprintf("%s: the last line had been cut short after %d bytes, by a crash or a full disk; it was moved to %s. Add its run again", path, len(f.torn), aside))
	return nil
}

// tellGit writes, into a directory that was made for a new history, how git
// merges it and what it should not hold. In a directory of others nothing is
// written; the note says what to add.
func tellGit(path string, made bool) (notes []string) {
	dir, base := filepath.Split(path)
	pattern := base
	if strings.ContainsAny(base, " \t\"\\*?[]#!") {
		pattern = strconv.Quote(base)
	}
	rule := pattern + " merge=union"
	attributes := filepath.Join(dir, ".gitattributes")
	if !made {
		if b, err := os.ReadFile(attributes); err == nil && strings.Contains(string(b), rule) {
			return nil
		}
		return []string{fmt.Sprintf("to merge the history in git without conflicts add this line to %s: %s; and to .gitignore: %s*", attributes, rule, base+indexSuffix)}
	}
	for name, text := range map[string]string{
		attributes:                       "# Each line is a run of its own: a merge keeps the lines of both sides.\n" + rule + "\n",
		filepath.Join(dir, ".gitignore"): "# Made anew from the history at any time.\n" + base + indexSuffix + "*\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			notes = append(notes, err.Error())
		}
	}
	return notes
}
