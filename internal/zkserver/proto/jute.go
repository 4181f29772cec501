package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrShort says that a frame ended inside a field.
var ErrShort = errors.New("frame ends inside a field")

// Reader decodes jute primitives from a frame. The first fault sticks in Err
// and every later read gives a zero value, so callers check once at the end.
// Slices it returns alias the frame.
type Reader struct {
	b   []byte
	off int
	err error
}

// NewReader reads from b, which it does not change.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err is the first fault met.
func (r *Reader) Err() error { return r.err }

// Remaining is the number of bytes not read yet.
func (r *Reader) Remaining() int { return len(r.b) - r.off }

func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.Remaining() {
		r.err = fmt.Errorf("at byte %d of %d: %w", r.off, len(r.b), ErrShort)
		return nil
	}
	b := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

// Int32 reads a big-endian int.
func (r *Reader) Int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads a big-endian long.
func (r *Reader) Int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Bool reads one byte; everything but zero is true.
func (r *Reader) Bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// Buffer reads a length and that many bytes; -1 is nil, as in Java.
func (r *Reader) Buffer() []byte {
	n := r.Int32()
	if r.err != nil || n == -1 {
		return nil
	}
	return r.take(int(n))
}

// String reads a buffer as UTF-8 text; null reads as the empty string.
func (r *Reader) String() string { return string(r.Buffer()) }

// count reads a vector's length, refusing one that the rest of the frame
// cannot hold at elemBytes (the least an element takes).
func (r *Reader) count(elemBytes int) int {
	n := r.Int32()
	if r.err != nil || n <= 0 {
		return 0
	}
	if int(n) > r.Remaining()/elemBytes {
		r.err = fmt.Errorf("vector of %d elements at byte %d: %w", n, r.off, ErrShort)
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings.
func (r *Reader) Strings() []string {
	n := r.count(4)
	if n == 0 {
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.String())
	}
	return out
}

// ACLs reads a vector of ACLs.
func (r *Reader) ACLs() []ACL {
	n := r.count(12)
	if n == 0 {
		return nil
	}
	out := make([]ACL, 0, n)
	for range n {
		out = append(out, ACL{Perms: r.Int32(), Scheme: r.String(), ID: r.String()})
	}
	return out
}

// AppendInt32 appends a big-endian int.
func AppendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendInt64 appends a big-endian long.
func AppendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendBool appends one byte.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendString appends a length and the text.
func AppendString(b []byte, s string) []byte {
	return append(AppendInt32(b, int32(len(s))), s...)
}

// AppendBuffer appends a length and the bytes, -1 for nil.
func AppendBuffer(b, v []byte) []byte {
	if v == nil {
		return AppendInt32(b, -1)
	}
	return append(AppendInt32(b, int32(len(v))), v...)
}

// AppendACLs appends a vector of ACLs.
func AppendACLs(b []byte, acls []ACL) []byte {
	b = AppendInt32(b, int32(len(acls)))
	for _, a := range acls {
		b = AppendString(AppendString(AppendInt32(b, a.Perms), a.Scheme), a.ID)
	}
	return b
}

// StartFrame reserves the four bytes of a frame's length and gives the place
// that FinishFrame needs.
func StartFrame(b []byte) ([]byte, int) { return append(b, 0, 0, 0, 0), len(b) }

// FinishFrame writes the length of the frame that began at start.
func FinishFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
