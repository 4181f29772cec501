package metadata

import (
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
)

// frameVersion is the only version of the frame around a record; Kafka
// refuses 0 so that a zeroed value is no record.
const frameVersion = 1

// AppendRecord appends the value of a record of the metadata log: frame
// version, key and record version as unsigned varints, and the body. It gives
// an error if version is not one of r's, or if r holds what version cannot
// carry; dst is then as it was.
func AppendRecord(dst []byte, r Record, version int16) ([]byte, error) {
	if version < 0 || version > r.maxVersion() {
		return dst, fmt.Errorf("write %T: version %d is not in 0..%d", r, version, r.maxVersion())
	}
	c := coder{out: kbin.AppendUvarint(dst, frameVersion)}
	c.out = kbin.AppendUvarint(c.out, uint32(r.Key()))
	c.out = kbin.AppendUvarint(c.out, uint32(version))
	r.code(&c, version)
	if c.err != nil {
		return dst, fmt.Errorf("write %T version %d: %w", r, version, c.err)
	}
	return c.out, nil
}

// ReadRecord reads the value of a record of the metadata log and gives its
// version with it. Unknown keys, versions and frames, truncated bodies and
// trailing bytes are errors. The record shares no memory with b.
func ReadRecord(b []byte) (Record, int16, error) {
	c := coder{reading: true, in: kbin.Reader{Src: b}}
	frame, key, version := c.in.Uvarint(), c.in.Uvarint(), c.in.Uvarint()
	if !c.in.Ok() {
		return nil, 0, errors.New("metadata record: the frame is truncated")
	}
	if frame != frameVersion {
		return nil, 0, fmt.Errorf("metadata record: frame version %d is not supported, only %d is", frame, frameVersion)
	}
	if key > math.MaxInt16 {
		return nil, 0, fmt.Errorf("metadata record: key %d is out of range", key)
	}
	r := newRecord(int16(key))
	if r == nil {
		return nil, 0, fmt.Errorf("metadata record: unknown key %d", key)
	}
	if version > uint32(r.maxVersion()) {
		return nil, 0, fmt.Errorf("metadata record: version %d of %T is newer than the supported %d", version, r, r.maxVersion())
	}
	r.code(&c, int16(version))
	if err := c.finish(); err != nil {
		return nil, 0, fmt.Errorf("metadata record %T version %d: %w", r, version, err)
	}
	return r, int16(version), nil
}
