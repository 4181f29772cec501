package metalog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"

	"kbench/kafka"
)

// minRecordBytes is a record without key and value: it bounds what a forged
// record count can make a decoder allocate.
const minRecordBytes = 7

// Header is what a batch says of itself before its records.
type Header struct {
	BaseOffset kafka.Offset
	EndOffset  kafka.Offset // exclusive
	Epoch      kafka.LeaderEpoch
	Timestamp  int64 // the largest of its records, ms since 1970
	Control    bool
	SizeBytes  int // the whole batch, header included

	count int
	crc   uint32
}

// ReadHeader decodes the header at the start of raw, which need not hold the
// whole batch. It checks sizes and format, not the checksum: Verify does.
// Errors are ErrShort or wrap ErrCorrupt.
func ReadHeader(raw []byte) (Header, error) {
	if len(raw) < HeaderBytes {
		return Header{}, ErrShort
	}
	be := binary.BigEndian
	h := Header{
		BaseOffset: kafka.Offset(be.Uint64(raw)),
		Epoch:      kafka.LeaderEpoch(be.Uint32(raw[12:])),
		Timestamp:  int64(be.Uint64(raw[35:])),
		crc:        be.Uint32(raw[crcAt:]),
		count:      int(int32(be.Uint32(raw[57:]))),
	}
	length := int64(int32(be.Uint32(raw[8:])))
	attributes := be.Uint16(raw[21:])
	lastDelta := int64(int32(be.Uint32(raw[23:])))
	h.Control = attributes&controlFlag != 0
	h.SizeBytes = int(length) + lengthEnd
	h.EndOffset = h.BaseOffset + kafka.Offset(lastDelta) + 1
	return h, h.check(length, raw[16], attributes, lastDelta)
}

func (h Header) check(length int64, gotMagic byte, attributes uint16, lastDelta int64) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w at offset %d: %s", ErrCorrupt, h.BaseOffset, fmt.Sprintf(format, args...))
	}
	switch {
	case length < HeaderBytes-lengthEnd || length > MaxBatchBytes-lengthEnd:
		return bad("length field %d is outside %d to %d", length, HeaderBytes-lengthEnd, MaxBatchBytes-lengthEnd)
	case gotMagic != magic:
		return bad("format %d, want %d", gotMagic, magic)
	case h.BaseOffset < 0:
		return bad("negative offset")
	case h.Epoch < 0:
		return bad("negative epoch %d", h.Epoch)
	case attributes&codecMask != 0:
		return bad("compression codec %d; a metadata log is never compressed", attributes&codecMask)
	case lastDelta < 0 || int64(h.count) != lastDelta+1:
		return bad("%d records but last offset delta %d", h.count, lastDelta)
	case h.EndOffset < h.BaseOffset:
		return bad("offsets overflow")
	case h.count > (h.SizeBytes-HeaderBytes)/minRecordBytes:
		return bad("%d records in %d bytes", h.count, h.SizeBytes-HeaderBytes)
	}
	return nil
}

// Verify checks the checksum of the whole batch at the start of raw.
func (h Header) Verify(raw []byte) error {
	if len(raw) < h.SizeBytes {
		return ErrShort
	}
	return h.verify(raw[:h.SizeBytes])
}

func (h Header) verify(batch []byte) error {
	if sum := crc32.Checksum(batch[crcFrom:], castagnoli); sum != h.crc {
		return fmt.Errorf("%w at offset %d: checksum %08x, computed %08x", ErrCorrupt, h.BaseOffset, h.crc, sum)
	}
	return nil
}

// readRecords decodes exactly count records that fill b.
func readRecords(b []byte, count int) ([]Record, error) {
	records := make([]Record, 0, count)
	r := kbin.Reader{Src: b}
	for i := range count {
		size := int(r.Varint())
		if !r.Ok() || size < 0 || size > len(r.Src) {
			return nil, fmt.Errorf("record %d does not fit", i)
		}
		rec, err := readRecord(r.Span(size), i)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		records = append(records, rec)
	}
	if len(r.Src) != 0 {
		return nil, fmt.Errorf("%d bytes behind the last record", len(r.Src))
	}
	return records, nil
}

func readRecord(b []byte, index int) (Record, error) {
	r := kbin.Reader{Src: b}
	r.Int8()    // attributes: unused by Kafka
	r.Varlong() // timestamp delta
	delta := r.Varint()
	rec := Record{Key: readVarintBytes(&r), Value: readVarintBytes(&r)}
	headers := int(r.Varint())
	if headers < 0 || headers > len(r.Src) {
		return rec, fmt.Errorf("header count %d", headers)
	}
	for range headers {
		if r.VarintBytes() == nil && !r.Ok() {
			break
		}
		r.VarintBytes()
	}
	switch {
	case !r.Ok():
		return rec, fmt.Errorf("fields do not fit its length")
	case len(r.Src) != 0:
		return rec, fmt.Errorf("%d bytes left over", len(r.Src))
	case int(delta) != index:
		return rec, fmt.Errorf("offset delta %d", delta)
	}
	return rec, nil
}

// readVarintBytes gives nil for a null value and empty bytes for an empty one.
func readVarintBytes(r *kbin.Reader) []byte {
	n := r.Varint()
	if n < 0 {
		return nil
	}
	if b := r.Span(int(n)); b != nil {
		return b
	}
	return []byte{}
}
