package metadata

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"

	"kbench/kafka"
)

// coder reads or writes Kafka's flexible encoding with one description of a
// record's fields for both, so that the two cannot differ. The first error
// sticks and makes the rest a no-op.
type coder struct {
	reading bool
	in      kbin.Reader
	out     []byte
	err     error
}

var errTruncated = errors.New("the record ends in the middle of a field")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// need refuses a field that holds something which version cannot carry. A
// false answer means that the field is not in this version.
func (c *coder) need(version, since int16, isDefault bool, field string) bool {
	if version >= since {
		return true
	}
	if !c.reading && !isDefault {
		c.fail(fmt.Errorf("%s needs version %d of the record, not %d", field, since, version))
	}
	return false
}

func (c *coder) bool(v *bool) {
	if c.reading {
		*v = c.in.Bool()
	} else {
		c.out = kbin.AppendBool(c.out, *v)
	}
}

func (c *coder) int16(v *int16) {
	if c.reading {
		*v = c.in.Int16()
	} else {
		c.out = kbin.AppendInt16(c.out, *v)
	}
}

func (c *coder) uint16(v *uint16) {
	if c.reading {
		*v = c.in.Uint16()
	} else {
		c.out = kbin.AppendUint16(c.out, *v)
	}
}

func (c *coder) float64(v *float64) {
	if c.reading {
		*v = c.in.Float64()
	} else {
		c.out = kbin.AppendFloat64(c.out, *v)
	}
}

// bytes reads a copy: the input may be reused.
func (c *coder) bytes(v *[]byte) {
	if c.reading {
		*v = slices.Clone(c.in.CompactBytes())
	} else {
		c.out = kbin.AppendCompactBytes(c.out, *v)
	}
}

func codeInt8[T ~int8](c *coder, v *T) {
	if c.reading {
		*v = T(c.in.Int8())
	} else {
		c.out = kbin.AppendInt8(c.out, int8(*v))
	}
}

func codeInt32[T ~int32](c *coder, v *T) {
	if c.reading {
		*v = T(c.in.Int32())
	} else {
		c.out = kbin.AppendInt32(c.out, int32(*v))
	}
}

func codeInt64[T ~int64](c *coder, v *T) {
	if c.reading {
		*v = T(c.in.Int64())
	} else {
		c.out = kbin.AppendInt64(c.out, int64(*v))
	}
}

func (c *coder) uuid(v *kafka.UUID) {
	if c.reading {
		*v = c.in.Uuid()
	} else {
		c.out = append(c.out, v[:]...)
	}
}

func (c *coder) string(v *string) {
	if !c.reading {
		c.out = kbin.AppendCompactString(c.out, *v)
		return
	}
	var p *string
	if c.nullString(&p); p != nil {
		*v = *p
	} else if c.in.Ok() {
		c.fail(errors.New("a string that must not be null is null"))
	}
}

func (c *coder) nullString(v **string) {
	if c.reading {
		*v = c.in.CompactNullableString()
	} else {
		c.out = kbin.AppendCompactNullableString(c.out, *v)
	}
}

// length codes the length of an array whose elements take at least minBytes
// each, so that a short input cannot ask for a large allocation. It gives -1
// for null.
func (c *coder) length(n int, null bool, minBytes int) int {
	if !c.reading {
		c.out = kbin.AppendCompactNullableArrayLen(c.out, n, null)
		return n
	}
	n = int(c.in.CompactArrayLen())
	if n > len(c.in.Src)/minBytes || !c.in.Ok() || c.err != nil {
		c.fail(errTruncated)
		return 0
	}
	return n
}

func (c *coder) notNull(n int) int {
	if n < 0 {
		c.fail(errors.New("an array that must not be null is null"))
		return 0
	}
	return n
}

func (c *coder) ids(v *[]kafka.BrokerID)     { codeArray(c, v, 4, false, codeInt32[kafka.BrokerID]) }
func (c *coder) uuids(v *[]kafka.UUID)       { codeArray(c, v, 16, false, (*coder).uuid) }
func (c *coder) nullIDs(v *[]kafka.BrokerID) { codeArray(c, v, 4, true, codeInt32[kafka.BrokerID]) }
func (c *coder) nullUUIDs(v *[]kafka.UUID)   { codeArray(c, v, 16, true, (*coder).uuid) }

// codeArray reads an empty array as an empty slice that is not nil where null
// has a meaning of its own, and as nil elsewhere.
func codeArray[T any](c *coder, v *[]T, minBytes int, nullable bool, element func(*coder, *T)) {
	n := c.length(len(*v), nullable && *v == nil, minBytes)
	if c.reading {
		if !nullable {
			n = c.notNull(n)
		}
		switch {
		case n > 0 || n == 0 && nullable:
			*v = make([]T, n)
		default:
			*v = nil
		}
	}
	for i := range *v {
		element(c, &(*v)[i])
	}
}

// tagged is a record with tagged fields. The number of a tag is its bit in a
// mask; Kafka numbers them from 0.
type tagged interface {
	// present is the mask of the fields that are not at their default.
	present() uint32
	// allowed is the mask of the fields that version has.
	allowed(version int16) uint32
	// tag codes the value of one field.
	tag(c *coder, id uint32)
}

// tags codes the tagged fields of a record that has some, and those it does
// not know. It comes last in each structure.
func (c *coder) tags(r tagged, version int16, unknown *[]Tag) {
	var known uint32
	if r != nil {
		known = r.allowed(version)
	}
	if c.reading {
		c.readTags(r, known, unknown)
		return
	}
	var present uint32
	if r != nil {
		present = r.present()
	}
	if extra := present &^ known; extra != 0 {
		c.fail(fmt.Errorf("tagged field %d is not in version %d of the record", bits.TrailingZeros32(extra), version))
		return
	}
	c.out = kbin.AppendUvarint(c.out, uint32(bits.OnesCount32(present)+len(*unknown)))
	rest := *unknown
	for id := uint32(0); id < 32; id++ {
		for len(rest) > 0 && rest[0].ID < id {
			c.unknownTag(rest[0])
			rest = rest[1:]
		}
		if present&(1<<id) != 0 {
			c.knownTag(r, id)
		}
	}
	for _, t := range rest {
		c.unknownTag(t)
	}
}

func (c *coder) unknownTag(t Tag) {
	c.out = kbin.AppendUvarint(c.out, t.ID)
	c.out = kbin.AppendUvarint(c.out, uint32(len(t.Data)))
	c.out = append(c.out, t.Data...)
}

// knownTag writes a field behind a byte for its size, and moves it only if
// the size needs more.
func (c *coder) knownTag(r tagged, id uint32) {
	c.out = append(kbin.AppendUvarint(c.out, id), 0)
	start := len(c.out)
	r.tag(c, id)
	size := uint32(len(c.out) - start)
	if more := kbin.UvarintLen(size) - 1; more > 0 {
		c.out = slices.Insert(c.out, start, make([]byte, more)...)
	}
	kbin.AppendUvarint(c.out[:start-1], size)
}

func (c *coder) readTags(r tagged, known uint32, unknown *[]Tag) {
	n := c.in.Uvarint()
	last := int64(-1)
	for ; n > 0 && c.err == nil; n-- {
		id, size := c.in.Uvarint(), c.in.Uvarint()
		if !c.in.Ok() || uint64(size) > uint64(len(c.in.Src)) {
			c.fail(errTruncated)
			return
		}
		if int64(id) <= last {
			c.fail(fmt.Errorf("tagged field %d comes after %d", id, last))
			return
		}
		last = int64(id)
		data := c.in.Span(int(size))
		if id >= 32 || known&(1<<id) == 0 {
			*unknown = append(*unknown, Tag{id, slices.Clone(data)})
			continue
		}
		field := coder{reading: true, in: kbin.Reader{Src: data}}
		r.tag(&field, id)
		if err := field.finish(); err != nil {
			c.fail(fmt.Errorf("tagged field %d: %w", id, err))
		}
	}
}

// finish gives the error of a read, or one for bytes that nothing has read.
func (c *coder) finish() error {
	switch {
	case c.err != nil:
		return c.err
	case !c.in.Ok():
		return errTruncated
	case len(c.in.Src) > 0:
		return fmt.Errorf("%d bytes follow its end", len(c.in.Src))
	}
	return nil
}
