package txnlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// MaxRecordBytes bounds a record. It is far above jute.maxbuffer, which bounds
// a request and so a transaction.
const MaxRecordBytes = 64 << 20

const headBytes = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BeginRecord reserves a record's head in b and gives the place EndRecord
// needs; the payload is appended in between.
func BeginRecord(b []byte) ([]byte, int) {
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0), len(b)
}

// EndRecord fills in length and checksum.
func EndRecord(b []byte, start int) []byte {
	payload := b[start+headBytes:]
	binary.BigEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(payload, castagnoli))
	return b
}

// errTorn says that a file ends inside a record or a record's checksum is
// wrong.
var errTorn = errors.New("record is torn or damaged")

// reader reads records and knows where the last whole one ended.
type reader struct {
	r    *bufio.Reader
	good int64 // bytes up to the end of the last whole record
	buf  []byte
	// emptyEnds says that empty records are allowed.
	emptyEnds bool
}

func newReader(r io.Reader, magic string) (*reader, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(br, head); err != nil {
		return nil, errTorn
	}
	if string(head) != magic {
		return nil, fmt.Errorf("file begins with %q, not with %q: it is of another program or version", head, magic)
	}
	return &reader{r: br, good: int64(len(magic))}, nil
}

// next gives the next payload, valid until the following call; io.EOF at a
// clean end, errTorn at anything that is not a whole record.
func (r *reader) next() ([]byte, error) {
	var head [headBytes]byte
	if n, err := io.ReadFull(r.r, head[:]); err != nil {
		if n == 0 && err == io.EOF {
			return nil, io.EOF
		}
		return nil, tornOr(err)
	}
	size := binary.BigEndian.Uint32(head[:4])
	// An empty record is a snapshot's end mark. In a log it is a tail of zeros,
	// which a crash of the machine can leave.
	if size > MaxRecordBytes || (size == 0 && !r.emptyEnds) {
		return nil, errTorn
	}
	payload, err := r.read(int(size))
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return nil, errTorn
	}
	r.good += headBytes + int64(size)
	return payload, nil
}

// readStep is how much is read for a record at least, where it is larger.
const readStep = 256 << 10

// read gives the next n bytes in the buffer, which grows with what comes: a
// damaged length must not cost its bytes.
func (r *reader) read(n int) ([]byte, error) {
	b := r.buf[:0]
	for have := 0; have < n; have = len(b) {
		next := min(n, max(2*have, readStep))
		b = slices.Grow(b, next-have)[:next]
		if _, err := io.ReadFull(r.r, b[have:]); err != nil {
			return nil, tornOr(err)
		}
	}
	r.buf = b
	return b, nil
}

// tornOr keeps real read errors apart from a file that simply ends.
func tornOr(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errTorn
	}
	return err
}
