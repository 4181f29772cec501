package batch

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"kbench/kafka"
)

// HeaderBytes is the size of the header of a batch, and of a batch without
// records.
const HeaderBytes = 61

// NoProducer is the producer id of a batch that is not idempotent.
const NoProducer int64 = -1

// Offsets of the fields in a batch.
const (
	atLength      = 8
	atLeaderEpoch = 12
	atMagic       = 16
	atCRC         = 17
	atAttributes  = 21
	atLastDelta   = 23
	atBaseTime    = 27
	atMaxTime     = 35
	atProducerID  = 43
	atProducer    = 51
	atSequence    = 53
	atRecords     = 57

	afterLength = 12 // the length field counts what follows it
	magic       = 2
)

// Attribute bits.
const (
	transactionalBit = 1 << 4
	controlBit       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is what is read of a batch.
type Header struct {
	BaseOffset    kafka.Offset      // of the first record
	LeaderEpoch   kafka.LeaderEpoch // of the leader that appended it
	Count         int32             // offsets the batch takes, at least 1
	Records       int32             // records it holds; fewer than Count after cleaning
	ProducerID    int64             // NoProducer where it is not idempotent
	ProducerEpoch int16
	BaseSequence  int32 // of the first record; -1 without a producer
	Transactional bool
	Control       bool
	SizeBytes     int // of the whole batch
}

// Next is the offset after the batch.
func (h Header) Next() kafka.Offset { return h.BaseOffset + kafka.Offset(h.Count) }

// LastSequence is the sequence of the batch's last record. Sequences go from
// 0 to the greatest int32 and then begin again at 0.
func (h Header) LastSequence() int32 { return addSequence(h.BaseSequence, h.Count-1) }

func addSequence(s, n int32) int32 {
	if s > math.MaxInt32-n {
		return n - (math.MaxInt32 - s) - 1
	}
	return s + n
}

// Read reads the header of the first batch of b, checks its length, magic and
// CRC-32C, and gives the bytes behind it. The error is CORRUPT_MESSAGE for
// bytes that are no batch, or UNSUPPORTED_VERSION for a message set older than
// magic 2.
func Read(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderBytes {
		return h, nil, fmt.Errorf("batch of %d bytes is shorter than its header: %w", len(b), kafka.CorruptMessage)
	}
	if m := b[atMagic]; m != magic {
		return h, nil, fmt.Errorf("batch has magic %d, 2 is needed: %w", m, kafka.UnsupportedVersion)
	}
	size := int(int32(binary.BigEndian.Uint32(b[atLength:]))) + afterLength
	if size < HeaderBytes || size > len(b) {
		return h, nil, fmt.Errorf("batch says it has %d bytes, %d are there: %w", size, len(b), kafka.CorruptMessage)
	}
	if crc := crc32.Checksum(b[atAttributes:size], castagnoli); crc != binary.BigEndian.Uint32(b[atCRC:]) {
		return h, nil, fmt.Errorf("batch has a wrong CRC: %w", kafka.CorruptMessage)
	}
	last := int32(binary.BigEndian.Uint32(b[atLastDelta:]))
	records := int32(binary.BigEndian.Uint32(b[atRecords:]))
	if last < 0 || last == math.MaxInt32 || records < 0 || records > last+1 {
		return h, nil, fmt.Errorf("batch has %d records and a last offset delta of %d: %w", records, last, kafka.CorruptMessage)
	}
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	h = Header{
		BaseOffset:    kafka.Offset(binary.BigEndian.Uint64(b)),
		LeaderEpoch:   kafka.LeaderEpoch(binary.BigEndian.Uint32(b[atLeaderEpoch:])),
		Count:         last + 1,
		Records:       records,
		ProducerID:    int64(binary.BigEndian.Uint64(b[atProducerID:])),
		ProducerEpoch: int16(binary.BigEndian.Uint16(b[atProducer:])),
		BaseSequence:  int32(binary.BigEndian.Uint32(b[atSequence:])),
		Transactional: attributes&transactionalBit != 0,
		Control:       attributes&controlBit != 0,
		SizeBytes:     size,
	}
	return h, b[size:], nil
}

// ReadProduced reads what a producer sent to one partition: exactly one batch
// with as many records as offsets, not a control batch. Other shapes give
// INVALID_RECORD, as Kafka's log validator does.
func ReadProduced(b []byte) (Header, error) {
	h, rest, err := Read(b)
	switch {
	case err != nil:
		return h, err
	case len(rest) != 0:
		return h, fmt.Errorf("%d bytes follow the batch, one batch a partition is allowed: %w", len(rest), kafka.InvalidRecord)
	case h.Records < 1 || h.Records != h.Count:
		return h, fmt.Errorf("produced batch has %d records for %d offsets: %w", h.Records, h.Count, kafka.InvalidRecord)
	case h.Control:
		return h, fmt.Errorf("producers may not write control batches: %w", kafka.InvalidRecord)
	case h.ProducerID != NoProducer && (h.BaseSequence < 0 || h.ProducerEpoch < 0):
		return h, fmt.Errorf("producer %d sent sequence %d, epoch %d: %w", h.ProducerID, h.BaseSequence, h.ProducerEpoch, kafka.InvalidRecord)
	}
	return h, nil
}

// AppendEmpty appends a batch that takes h.Count offsets from h.BaseOffset and
// holds no records, the form a log cleaner leaves. Records, SizeBytes, Control
// and Transactional of h are not used.
func AppendEmpty(dst []byte, h Header) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, HeaderBytes)...)
	b := dst[at:]
	binary.BigEndian.PutUint64(b, uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(b[atLength:], HeaderBytes-afterLength)
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(h.LeaderEpoch))
	b[atMagic] = magic
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(h.Count-1))
	binary.BigEndian.PutUint64(b[atBaseTime:], ^uint64(0))
	binary.BigEndian.PutUint64(b[atMaxTime:], ^uint64(0))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(h.ProducerID))
	producerEpoch, sequence := h.ProducerEpoch, h.BaseSequence
	if h.ProducerID == NoProducer {
		producerEpoch, sequence = -1, -1
	}
	binary.BigEndian.PutUint16(b[atProducer:], uint16(producerEpoch))
	binary.BigEndian.PutUint32(b[atSequence:], uint32(sequence))
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
	return dst
}

// AppendSpan appends batches without records and without a producer for all
// offsets from up to, not including, end; one batch where the span has fewer
// than 2^31 offsets.
func AppendSpan(dst []byte, from, end kafka.Offset, epoch kafka.LeaderEpoch) []byte {
	for from < end {
		n := min(end-from, math.MaxInt32)
		dst = AppendEmpty(dst, Header{BaseOffset: from, LeaderEpoch: epoch, Count: int32(n), ProducerID: NoProducer})
		from += n
	}
	return dst
}
