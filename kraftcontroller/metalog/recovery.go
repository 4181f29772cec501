package metalog

import (
	"errors"
	"fmt"
	"io"

	"kbench/kafka"
)

// scanWindow is how much of a segment recovery holds in memory: the largest
// batch must fit.
const scanWindow = MaxBatchBytes

// scan reads the whole segment, checks every batch and builds the index. It
// stops at the first byte that is not a batch following the last and gives why;
// nil means that the file is whole. visit is called for each good batch,
// whose bytes are lent to it.
func (s *segment) scan(visit func(Header, []byte) error) (reason, err error) {
	r := windowReader{file: s.file, size: s.size}
	var at int64
	s.end, s.index, s.dated = s.base, nil, undatedYet
	var epoch kafka.LeaderEpoch
	for at < s.size {
		h, reason, err := r.batchAt(at)
		if err != nil {
			return nil, fmt.Errorf("read %s at byte %d: %w", s.path, at, err)
		}
		switch {
		case reason != nil:
		case h.BaseOffset != s.end:
			reason = fmt.Errorf("%w: offset %d where %d should follow", ErrCorrupt, h.BaseOffset, s.end)
		case h.Epoch < epoch:
			reason = fmt.Errorf("%w at offset %d: epoch %d after %d", ErrCorrupt, h.BaseOffset, h.Epoch, epoch)
		}
		if reason != nil {
			return &badTail{path: s.path, at: at, size: s.size, reason: reason}, nil
		}
		s.added(h, at)
		epoch = h.Epoch
		raw, err := r.bytes(at, h.SizeBytes)
		if err == nil {
			err = visit(h, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s at byte %d: %w", s.path, at, err)
		}
		at += int64(h.SizeBytes)
	}
	return nil, nil
}

// badTail says where the good bytes of a segment end.
type badTail struct {
	path     string
	at, size int64
	reason   error
}

func (b *badTail) Error() string {
	return fmt.Sprintf("%s at byte %d of %d: %v", b.path, b.at, b.size, b.reason)
}

func (b *badTail) Unwrap() error { return b.reason }

// batchBehind looks for a whole batch with a good checksum and a higher offset
// anywhere behind the bad place. One means that the damage is in the middle:
// what follows was once written after it, perhaps acknowledged, and must not be
// cut off in silence. A torn last write leaves none.
func (s *segment) batchBehind(b *badTail) (int64, bool, error) {
	r := windowReader{file: s.file, size: s.size}
	for at := b.at + 1; at+HeaderBytes <= s.size; at++ {
		h, reason, err := r.batchAt(at)
		if err != nil {
			return 0, false, err
		}
		if reason == nil && h.BaseOffset >= s.end {
			return at, true, nil
		}
	}
	return 0, false, nil
}

// checkTorn refuses a bad tail that is no torn last write.
func (s *segment) checkTorn(b *badTail) error {
	at, found, err := s.batchBehind(b)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	if found {
		return fmt.Errorf("%w, and a good batch stands behind it at byte %d: the log is damaged in its middle; %s", b, at, StartAnew)
	}
	return nil
}

// cut drops the bad tail.
func (s *segment) cut(b *badTail) error {
	if err := s.file.Truncate(b.at); err != nil {
		return fmt.Errorf("truncate %s to %d bytes: %w", s.path, b.at, err)
	}
	s.size = b.at
	return s.file.Sync()
}

// windowReader reads a file through a window that slides forward.
type windowReader struct {
	file File
	size int64
	buf  []byte
	at   int64 // of buf[0]
}

// batchAt reads and checks the batch at byte at. A reason says what is wrong
// with it, an error that the file cannot be read.
func (r *windowReader) batchAt(at int64) (h Header, reason, err error) {
	head, err := r.bytes(at, HeaderBytes)
	if err != nil {
		return Header{}, nil, err
	}
	h, reason = ReadHeader(head)
	if reason != nil {
		return h, reason, nil
	}
	body, err := r.bytes(at, h.SizeBytes)
	if err != nil {
		return h, nil, err
	}
	return h, h.Verify(body), nil
}

// bytes gives up to n bytes at byte at, fewer at the end of the file.
func (r *windowReader) bytes(at int64, n int) ([]byte, error) {
	n = int(min(int64(n), r.size-at))
	if at >= r.at && at+int64(n) <= r.at+int64(len(r.buf)) {
		return r.buf[at-r.at:][:n], nil
	}
	if r.buf == nil {
		r.buf = make([]byte, 0, min(scanWindow, r.size))
	}
	want := min(int64(cap(r.buf)), r.size-at)
	r.buf, r.at = r.buf[:want], at
	if _, err := r.file.ReadAt(r.buf, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.buf[:n], nil
}
