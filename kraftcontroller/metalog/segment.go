package metalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"kbench/kafka"
)

const (
	segmentSuffix = ".log"
	// indexEvery is how many bytes lie between two index entries, as Kafka's
	// index.interval.bytes.
	indexEvery = 4096
)

// segment is one file of batches. Its index is held in memory and made anew when
// the file is scanned at Open, which must read every byte for the checksums
// anyway; the .index and .timeindex beside it are for Kafka, see writeIndexes.
type segment struct {
	base  kafka.Offset
	end   kafka.Offset // exclusive
	path  string
	file  File
	size  int64
	index []indexEntry
	dated dated // the largest timestamp of all batches
	first int64 // the timestamp of the first batch, ms since 1970; 0 where it has none
}

type indexEntry struct {
	offset kafka.Offset // first offset of the batch at that place
	last   kafka.Offset // last offset of it
	at     int64
	before dated // the largest timestamp of the batches before it
}

// dated is a timestamp, ms since 1970, and the last offset of the first batch
// that has it; -1 for none.
type dated struct {
	timestamp int64
	offset    kafka.Offset
}

var undatedYet = dated{-1, -1}

func segmentName(base kafka.Offset) string { return fmt.Sprintf("%020d%s", base, segmentSuffix) }

func parseSegmentName(name string) (kafka.Offset, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return kafka.Offset(n), err == nil
}

func openSegment(fs FS, dir string, base kafka.Offset) (*segment, error) {
	path := filepath.Join(dir, segmentName(base))
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segment{base: base, end: base, path: path, file: f, size: size, dated: undatedYet}, nil
}

// added accounts for the batch h that stands at byte at.
func (s *segment) added(h Header, at int64) {
	if at == 0 {
		s.first = h.Timestamp
	}
	if n := len(s.index); n == 0 || at-s.index[n-1].at >= indexEvery {
		s.index = append(s.index, indexEntry{h.BaseOffset, h.EndOffset - 1, at, s.dated})
	}
	if h.Timestamp > s.dated.timestamp {
		s.dated = dated{h.Timestamp, h.EndOffset - 1}
	}
	s.end = h.EndOffset
}

// seek gives the place of the first batch that ends above offset, and its
// header. The offset must be below s.end.
func (s *segment) seek(offset kafka.Offset) (int64, Header, error) {
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].offset > offset })
	at := int64(0)
	if i > 0 {
		at = s.index[i-1].at
	}
	var buf [HeaderBytes]byte
	for at < s.size {
		if _, err := s.file.ReadAt(buf[:], at); err != nil {
			return 0, Header{}, fmt.Errorf("read %s at byte %d: %w", s.path, at, err)
		}
		h, err := ReadHeader(buf[:])
		if err != nil {
			return 0, Header{}, fmt.Errorf("read %s at byte %d: %w", s.path, at, err)
		}
		if h.EndOffset > offset {
			return at, h, nil
		}
		at += int64(h.SizeBytes)
	}
	return 0, Header{}, fmt.Errorf("read %s: offset %d is behind its end", s.path, offset)
}

// read gives whole batches from the one that holds offset, at most maxBytes of
// them but at least one.
func (s *segment) read(offset kafka.Offset, maxBytes int) ([]byte, error) {
	at, h, err := s.seek(offset)
	if err != nil {
		return nil, err
	}
	n := min(int64(max(maxBytes, h.SizeBytes)), s.size-at)
	raw := make([]byte, n)
	if _, err := s.file.ReadAt(raw, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s at byte %d: %w", s.path, at, err)
	}
	return wholeBatches(raw), nil
}

// wholeBatches cuts raw after its last whole batch.
func wholeBatches(raw []byte) []byte {
	end := 0
	for end < len(raw) {
		h, err := ReadHeader(raw[end:])
		if err != nil || end+h.SizeBytes > len(raw) {
			break
		}
		end += h.SizeBytes
	}
	return raw[:end]
}

// write puts raw, whole batches already checked, at the end. On failure the
// file is cut back, so that a full disk leaves no half batch behind.
func (s *segment) write(raw []byte) error {
	if _, err := s.file.WriteAt(raw, s.size); err != nil {
		return errors.Join(fmt.Errorf("append to %s: %w", s.path, err), s.file.Truncate(s.size))
	}
	at := s.size
	s.size += int64(len(raw))
	for rest := raw; len(rest) > 0; {
		h, err := ReadHeader(rest)
		if err != nil {
			return err
		}
		s.added(h, at)
		at += int64(h.SizeBytes)
		rest = rest[h.SizeBytes:]
	}
	return nil
}

// truncate drops every batch that ends above offset.
func (s *segment) truncate(offset kafka.Offset) error {
	if offset >= s.end {
		return nil
	}
	at, h, err := s.seek(offset)
	if err != nil {
		return err
	}
	if err := s.file.Truncate(at); err != nil {
		return fmt.Errorf("truncate %s to %d bytes: %w", s.path, at, err)
	}
	s.size, s.end = at, h.BaseOffset
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].at >= at })
	if i < len(s.index) && s.dated != s.index[i].before {
		s.dated = s.index[i].before
	}
	s.index = s.index[:i]
	if s.dated.offset >= s.end { // it was among what went, behind the last entry
		s.dated = undatedYet
		if i > 0 {
			s.dated = s.index[i-1].before
		}
	}
	return nil
}
