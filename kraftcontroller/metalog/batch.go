package metalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"

	"kbench/kafka"
)

const (
	// HeaderBytes is the size of a batch header, records excluded.
	HeaderBytes = 61
	// MaxBatchBytes bounds one batch on disk and on the wire. Kafka's quorum
	// never builds one above 8 MiB; the rest is room for a single large record.
	MaxBatchBytes = 16 << 20

	lengthEnd   = 12 // offset and length fields, which the length field does not count
	crcAt       = 17
	crcFrom     = 21 // the checksum covers everything from here
	magic       = 2
	controlFlag = 1 << 5
	codecMask   = 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrShort says that bytes end inside a batch: a torn write or a chunk border,
// not corruption by itself.
var ErrShort = errors.New("bytes end inside a record batch")

// ErrCorrupt is wrapped by every error that finds bytes which cannot be a
// record batch v2 of a metadata log.
var ErrCorrupt = errors.New("corrupt record batch")

// Record is one record of a batch. Key is nil except in control records. Key
// and Value alias the bytes they were decoded from.
type Record struct {
	Key, Value []byte
}

// Batch is one record batch v2. BaseOffset is the offset of its first record;
// record i has offset BaseOffset+i. Epoch is the quorum epoch of the leader
// that appended it, Timestamp its clock in ms since 1970. SizeBytes is set by
// decoding and ignored by encoding.
type Batch struct {
	BaseOffset kafka.Offset
	Epoch      kafka.LeaderEpoch
	Timestamp  int64
	Control    bool
	Records    []Record
	SizeBytes  int
}

// EndOffset is the offset after the last record.
func (b Batch) EndOffset() kafka.Offset { return b.BaseOffset + kafka.Offset(len(b.Records)) }

// Append encodes b behind dst: uncompressed, without producer, timestamp delta
// 0 and no headers, as Kafka's quorum does. A batch without records or above
// MaxBatchBytes is refused.
func (b Batch) Append(dst []byte) ([]byte, error) {
	if len(b.Records) == 0 {
		return dst, errors.New("encode batch: it has no records")
	}
	start := len(dst)
	var attributes int16
	if b.Control {
		attributes |= controlFlag
	}
	dst = kbin.AppendInt64(dst, int64(b.BaseOffset))
	dst = kbin.AppendInt32(dst, 0) // length, below
	dst = kbin.AppendInt32(dst, int32(b.Epoch))
	dst = append(dst, magic)
	dst = kbin.AppendInt32(dst, 0) // checksum, below
	dst = kbin.AppendInt16(dst, attributes)
	dst = kbin.AppendInt32(dst, int32(len(b.Records)-1))
	dst = kbin.AppendInt64(dst, b.Timestamp)
	dst = kbin.AppendInt64(dst, b.Timestamp)
	dst = kbin.AppendInt64(dst, -1) // producer id
	dst = kbin.AppendInt16(dst, -1) // producer epoch
	dst = kbin.AppendInt32(dst, -1) // base sequence
	dst = kbin.AppendInt32(dst, int32(len(b.Records)))
	for i, r := range b.Records {
		dst = appendRecord(dst, int32(i), r)
	}
	raw := dst[start:]
	if len(raw) > MaxBatchBytes {
		return dst[:start], fmt.Errorf("encode batch: %d bytes, at most %d", len(raw), MaxBatchBytes)
	}
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-lengthEnd))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[crcFrom:], castagnoli))
	return dst, nil
}

func appendRecord(dst []byte, delta int32, r Record) []byte {
	dst = kbin.AppendVarint(dst, int32(recordBody(delta, r)))
	dst = append(dst, 0) // attributes
	dst = append(dst, 0) // timestamp delta
	dst = kbin.AppendVarint(dst, delta)
	dst = appendVarintBytes(dst, r.Key)
	dst = appendVarintBytes(dst, r.Value)
	return append(dst, 0) // no headers
}

// RecordBytes is what r adds to a batch in which it is record number delta.
func RecordBytes(delta int, r Record) int {
	body := recordBody(int32(delta), r)
	return kbin.VarintLen(int32(body)) + body
}

func recordBody(delta int32, r Record) int {
	return 3 + kbin.VarintLen(delta) + varintBytesLen(r.Key) + varintBytesLen(r.Value)
}

func varintBytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return kbin.VarintLen(int32(len(b))) + len(b)
}

func appendVarintBytes(dst, b []byte) []byte {
	if b == nil {
		return kbin.AppendVarint(dst, -1)
	}
	return kbin.AppendVarintBytes(dst, b)
}

// ReadBatch decodes the first batch of raw, checking its checksum, and gives
// what follows it. The records alias raw. Errors are ErrShort or wrap
// ErrCorrupt.
func ReadBatch(raw []byte) (Batch, []byte, error) {
	h, err := ReadHeader(raw)
	if err != nil {
		return Batch{}, raw, err
	}
	if len(raw) < h.SizeBytes {
		return Batch{}, raw, ErrShort
	}
	body := raw[:h.SizeBytes]
	if err := h.verify(body); err != nil {
		return Batch{}, raw, err
	}
	b := Batch{
		BaseOffset: h.BaseOffset, Epoch: h.Epoch, Timestamp: h.Timestamp,
		Control: h.Control, SizeBytes: h.SizeBytes,
	}
	b.Records, err = readRecords(body[HeaderBytes:], h.count)
	if err != nil {
		return Batch{}, raw, fmt.Errorf("%w at offset %d: %w", ErrCorrupt, h.BaseOffset, err)
	}
	return b, raw[h.SizeBytes:], nil
}

// ReadBatches decodes every whole batch of raw. A batch cut short at the end,
// as Fetch may give, is left out; anything else that cannot be decoded is an
// error.
func ReadBatches(raw []byte) ([]Batch, error) {
	var batches []Batch
	for len(raw) > 0 {
		b, rest, err := ReadBatch(raw)
		if errors.Is(err, ErrShort) {
			break
		}
		if err != nil {
			return nil, err
		}
		batches = append(batches, b)
		raw = rest
	}
	return batches, nil
}
