package quorumlog

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a JSON line, and maxEntry the bytes behind it: a snapshot of
// millions of partitions.
const (
	maxLine  = 64 << 10
	maxEntry = 1 << 30
)

// read yields the entries of a stored file, and gives its first line. Each entry has
// bytes of its own. A file that was cut short is an error.
func read(r io.Reader, yield func(l line, raw []byte) error) (line, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return line{}, err
	}
	br := bufio.NewReaderSize(zr, maxLine)
	head, err := readLine(br)
	if err == nil && len(head.Voters) == 0 {
		err = errors.New("it names no voters")
	}
	if err != nil {
		return line{}, fmt.Errorf("entry 1: %w", err)
	}
	for n := 2; ; n++ {
		l, err := readLine(br)
		if err == nil && l.End {
			// The checksum stands behind the last line.
			if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
				return line{}, fmt.Errorf("after its end: %w", cmp.Or(err, errors.New("more bytes")))
			}
			return head, nil
		}
		var raw []byte
		if err == nil && l.Told == nil {
			raw, err = readEntry(br, l)
		}
		if err == nil {
			err = yield(l, raw)
		}
		if err != nil {
			return line{}, fmt.Errorf("entry %d: %w", n, err)
		}
	}
}

func readLine(br *bufio.Reader) (l line, err error) {
	text, err := br.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		return l, errors.New("the file ends before its end line")
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	return l, err
}

func readEntry(br *bufio.Reader, l line) ([]byte, error) {
	if len(l.Held) == 0 || l.Bytes <= 0 || l.Bytes > maxEntry {
		return nil, errors.New("it says nothing this version knows")
	}
	// Read in steps: a forged length allocates no more than is there.
	raw, err := io.ReadAll(io.LimitReader(br, int64(l.Bytes)))
	if err == nil && len(raw) < l.Bytes {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}
