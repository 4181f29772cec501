package history

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// indexSuffix is added to the history's name.
const indexSuffix = ".index"

// indexVersion is of the tables below. An index of another version is made
// anew.
const indexVersion = 1

const schema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE nights (
	id INTEGER PRIMARY KEY, at INTEGER NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL, "commit" TEXT NOT NULL,
	UNIQUE (run, digest)
);
CREATE TABLE series (
	id INTEGER PRIMARY KEY, cell TEXT NOT NULL, workload TEXT NOT NULL, metric TEXT NOT NULL, phase TEXT NOT NULL,
	comparable TEXT NOT NULL, target TEXT NOT NULL, variant TEXT NOT NULL, partitions INTEGER NOT NULL,
	headline INTEGER NOT NULL, unit TEXT NOT NULL,
	UNIQUE (cell, workload, metric, phase, comparable)
);
CREATE TABLE readings (
	series INTEGER NOT NULL, night INTEGER NOT NULL, median REAL NOT NULL, n INTEGER NOT NULL, invalid INTEGER NOT NULL,
	why TEXT NOT NULL, apart REAL NOT NULL, chance REAL NOT NULL,
	PRIMARY KEY (series, night)
) WITHOUT ROWID;
CREATE TABLE accepts (line TEXT NOT NULL UNIQUE);`

// stamp says which state of the history an index describes.
type stamp struct {
	size  int64
	mtime int64  // ns
	ends  string // digest of the first and last blocks, so that a change within one tick of mtime is seen
	whole string // digest of everything
}

// endBlock is how much of each end a stamp looks at.
const endBlock = 4096

func stampOf(src []byte, mtime time.Time) stamp {
	return stamp{
		size: int64(len(src)), mtime: mtime.UnixNano(),
		ends:  digestOf(src[:min(len(src), endBlock)], src[max(0, len(src)-endBlock):]),
		whole: digestOf(src),
	}
}

func digestOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// quickStamp reads only the ends of an open file.
func quickStamp(f *os.File) (stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	n := min(info.Size(), endBlock)
	head, tail := make([]byte, n), make([]byte, n)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return stamp{}, err
	}
	if _, err := f.ReadAt(tail, info.Size()-n); err != nil && !errors.Is(err, io.EOF) {
		return stamp{}, err
	}
	return stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), ends: digestOf(head, tail)}, nil
}

// index is an open SQLite index.
type index struct {
	db *sql.DB
	at stamp
}

// openIndex opens the index of a history that has one of this version.
func openIndex(path string, readOnly bool) (*index, error) {
	name := path + indexSuffix
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	query := "_pragma=busy_timeout(30000)&_txlock=immediate"
	if readOnly {
		query = "mode=ro&_pragma=busy_timeout(30000)"
	}
	x, err := openDB(name, query)
	if err != nil {
		return nil, err
	}
	if err := x.readMeta(); err != nil {
		return nil, errors.Join(err, x.db.Close())
	}
	return x, nil
}

func openDB(name, query string) (*index, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: query}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &index{db: db}, nil
}

func (x *index) readMeta() error {
	rows, err := x.db.Query("SELECT key, value FROM meta")
	if err != nil {
		return err
	}
	defer rows.Close()
	meta := make(map[string]string)
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		meta[key] = value
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if meta["version"] != strconv.Itoa(indexVersion) {
		return fmt.Errorf("the index has version %q", meta["version"])
	}
	size, err1 := strconv.ParseInt(meta["size"], 10, 64)
	mtime, err2 := strconv.ParseInt(meta["mtime"], 10, 64)
	x.at = stamp{size, mtime, meta["ends"], meta["whole"]}
	return errors.Join(err1, err2)
}

// describes reports whether the index is of the file as it is.
func (x *index) describes(s stamp) bool {
	return x.at.size == s.size && x.at.mtime == s.mtime && x.at.ends == s.ends
}

// begins reports whether the file is what the index describes with lines
// appended.
func (x *index) begins(src []byte) bool {
	return x.at.size <= int64(len(src)) && digestOf(src[:x.at.size]) == x.at.whole
}

// buildIndex makes the index anew beside the old one and renames it, so that
// no reader sees a half.
func buildIndex(path string, f *file, at stamp) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+indexSuffix+"-new-*")
	if err != nil {
		return err
	}
	name := tmp.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	// It is derived: a crash may cost it.
	x, err := openDB(name, "_pragma=synchronous(OFF)&_pragma=journal_mode(OFF)")
	if err != nil {
		return err
	}
	_, err = x.db.Exec(schema)
	if err == nil {
		err = x.insert(f.lines, at)
	}
	if err = errors.Join(err, x.db.Close()); err != nil {
		return err
	}
	return os.Rename(name, path+indexSuffix)
}
