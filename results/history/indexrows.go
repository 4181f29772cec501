package history

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// insert adds the lines and stamps the index, in one transaction. Lines that
// another process added meanwhile are passed over.
func (x *index) insert(lines []line, at stamp) error {
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	w, err := newIndexWriter(tx)
	if err != nil {
		return err
	}
	for i := range lines {
		if err := w.line(&lines[i]); err != nil {
			return err
		}
	}
	for key, value := range map[string]string{
		"version": strconv.Itoa(indexVersion), "size": strconv.FormatInt(at.size, 10), "mtime": strconv.FormatInt(at.mtime, 10),
		"ends": at.ends, "whole": at.whole,
	} {
		if _, err := tx.Exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	x.at = at
	return nil
}

// indexWriter writes lines within one transaction.
type indexWriter struct {
	night, series, find, reading, accept *sql.Stmt
	ids                                  map[SeriesKey]int64
}

func newIndexWriter(tx *sql.Tx) (*indexWriter, error) {
	w := &indexWriter{ids: make(map[SeriesKey]int64)}
	var errs []error
	prepare := func(query string) *sql.Stmt {
		s, err := tx.Prepare(query)
		errs = append(errs, err)
		return s
	}
	w.night = prepare(`INSERT OR IGNORE INTO nights (at, run, digest, "commit") VALUES (?, ?, ?, ?)`)
	w.series = prepare("INSERT OR IGNORE INTO series (cell, workload, metric, phase, comparable, target, variant, partitions, headline, unit) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	w.find = prepare("SELECT id FROM series WHERE cell = ? AND workload = ? AND metric = ? AND phase = ? AND comparable = ?")
	w.reading = prepare("INSERT OR IGNORE INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
	w.accept = prepare("INSERT OR IGNORE INTO accepts VALUES (?)")
	return w, errors.Join(errs...)
}

func (w *indexWriter) line(l *line) error {
	if l.accept != nil {
		_, err := w.accept.Exec(string(l.raw))
		return err
	}
	n := l.night
	res, err := w.night.Exec(n.At.UnixNano(), n.Run, n.Digest, n.Commit)
	if err != nil {
		return err
	}
	if added, err := res.RowsAffected(); err != nil || added == 0 {
		return err // the same run stands twice
	}
	night, err := res.LastInsertId()
	if err != nil {
		return err
	}
	for i := range n.Cells {
		c := &n.Cells[i]
		for j := range c.Figures {
			f := &c.Figures[j]
			id, err := w.seriesID(seriesOf(c, f))
			if err != nil {
				return err
			}
			r := reading(n, c, f)
			if _, err := w.reading.Exec(id, night, r.Median, r.N, r.Invalid, r.Why, r.Apart, r.Chance); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *indexWriter) seriesID(s Series) (id int64, err error) {
	if id, ok := w.ids[s.SeriesKey]; ok {
		return id, nil
	}
	if _, err := w.series.Exec(s.Cell, s.Workload, s.Metric, s.Phase, s.Comparable, s.Target, s.Variant, s.Partitions, s.Headline, string(s.Unit)); err != nil {
		return 0, err
	}
	if err := w.find.QueryRow(s.Cell, s.Workload, s.Metric, s.Phase, s.Comparable).Scan(&id); err != nil {
		return 0, err
	}
	w.ids[s.SeriesKey] = id
	return id, nil
}

// read gives what the index holds, as the Log would.
func (x *index) read() (series []Series, accepts []Accept, err error) {
	// One transaction, so that a writer between two queries is not seen.
	tx, err := x.db.Begin()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tx.Rollback() }()
	nights, err := readNights(tx)
	if err != nil {
		return nil, nil, err
	}
	byID, err := readSeries(tx)
	if err != nil {
		return nil, nil, err
	}
	if err := readReadings(tx, byID, nights); err != nil {
		return nil, nil, err
	}
	l := &Log{}
	if err := eachRow(tx, "SELECT line FROM accepts", func(scan scanner) error {
		var text string
		var a Accept
		if err := errors.Join(scan(&text), json.Unmarshal([]byte(text), &a)); err != nil {
			return err
		}
		l.InsertAccept(a)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	return inOrder(byID), l.Accepts, nil
}

type scanner func(dest ...any) error

func eachRow(tx *sql.Tx, query string, row func(scan scanner) error) error {
	rows, err := tx.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func readNights(tx *sql.Tx) (map[int64]Reading, error) {
	nights := make(map[int64]Reading)
	return nights, eachRow(tx, `SELECT id, at, run, digest, "commit" FROM nights`, func(scan scanner) error {
		var id, at int64
		var r Reading
		if err := scan(&id, &at, &r.Run, &r.Digest, &r.Commit); err != nil {
			return err
		}
		r.At = time.Unix(0, at).UTC()
		nights[id] = r
		return nil
	})
}

func readSeries(tx *sql.Tx) (map[int64]*Series, error) {
	byID := make(map[int64]*Series)
	const query = "SELECT id, cell, workload, metric, phase, comparable, target, variant, partitions, headline, unit FROM series"
	return byID, eachRow(tx, query, func(scan scanner) error {
		var id int64
		s := new(Series)
		if err := scan(&id, &s.Cell, &s.Workload, &s.Metric, &s.Phase, &s.Comparable, &s.Target, &s.Variant, &s.Partitions, &s.Headline, &s.Unit); err != nil {
			return err
		}
		byID[id] = s
		return nil
	})
}

func readReadings(tx *sql.Tx, byID map[int64]*Series, nights map[int64]Reading) error {
	return eachRow(tx, "SELECT series, night, median, n, invalid, why, apart, chance FROM readings", func(scan scanner) error {
		var series, night int64
		var v Reading
		if err := scan(&series, &night, &v.Median, &v.N, &v.Invalid, &v.Why, &v.Apart, &v.Chance); err != nil {
			return err
		}
		s, r := byID[series], nights[night]
		if s == nil || r.Run == "" {
			return fmt.Errorf("a reading of series %d and night %d, which the index does not list", series, night)
		}
		v.Run, v.Digest, v.At, v.Commit = r.Run, r.Digest, r.At, r.Commit
		s.Readings = append(s.Readings, v)
		return nil
	})
}

// inOrder sorts the readings of each series by night. The order of the series
// is not the Log's: see sortSeries.
func inOrder(byID map[int64]*Series) []Series {
	out := make([]Series, 0, len(byID))
	for _, s := range byID {
		slices.SortFunc(s.Readings, compareReadings)
		out = append(out, *s)
	}
	return out
}
