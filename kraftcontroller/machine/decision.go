package machine

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// decision is what an operation comes to: records and an answer, both made
// from the image at the time of the decision.
type decision struct {
	// records may be walked while they are replayed: they are made from an
	// image, which never changes. Nil for none.
	records iter.Seq[metadata.Record]
	// atomic records are in one batch or, if they are too many, in none.
	// Others are split into batches of MaxRecords.
	atomic   bool
	response kmsg.Response // nil for the machine's own operations
	// immediate answers do not wait for what was appended before.
	immediate bool
	// whenStable are events to tell once the records are stable.
	whenStable []Event
}

// atomicOf gives a decision whose records are all or none.
func atomicOf(records []metadata.Record, response kmsg.Response) decision {
	return decision{records: slices.Values(records), atomic: true, response: response}
}

// refuse gives a decision that changes nothing and is answered at once.
func refuse(response kmsg.Response) decision { return decision{response: response, immediate: true} }

// told gives what is told of an error within an answer: its code and text, or
// no text where there is none.
func told(err error) (code int16, text *string) {
	if err == nil {
		return 0, nil
	}
	message := err.Error()
	return int16(admin.CodeOf(err)), &message
}

// newID gives a random id (UUID version 4) that does not begin with "-" when it
// is written, which tools would take for a flag.
func (m *Machine) newID() kafka.UUID {
	for {
		var id kafka.UUID
		for i := range 2 {
			v := m.cfg.Rand.Uint64()
			for j := range 8 {
				id[i*8+j] = byte(v >> (8 * j))
			}
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}

// errTooLarge is the error of an atomic operation above the limits.
var errTooLarge = errors.New("the operation needs too many records")

// carryOut appends and replays the records of d, and parks or sends its
// answer. It gives the offset of the last record appended ever.
func (m *Machine) carryOut(r Request, d decision) (kafka.Offset, error) {
	err := m.appendAll(d)
	if errors.Is(err, errTooLarge) && r.Body != nil {
		m.respond(r.ID, refusal.Of(r.Body, kafka.PolicyViolation, excessive))
		return m.log.head().last, nil
	}
	if err != nil {
		return 0, fmt.Errorf("machine: active in epoch %d: %w", m.epoch, err)
	}
	// An operation without records is a read of what may not be stable yet:
	// it waits for the same offset.
	if d.immediate || !m.log.uncommitted() {
		m.release(parked{request: r, decision: d})
	} else {
		m.purgatory.park(m.log.head().last, r, d)
		m.heartbeatWaits(r)
	}
	return m.log.head().last, nil
}

func (m *Machine) respond(id uint64, body kmsg.Response) {
	m.out.Responses = append(m.out.Responses, Response{id, body})
}

// release answers and tells what waited.
func (m *Machine) release(p parked) {
	m.out.Events = append(m.out.Events, p.decision.whenStable...)
	if p.request.Body != nil {
		m.respond(p.request.ID, p.decision.response)
	}
}

// appendAll cuts the records into batches.
func (m *Machine) appendAll(d decision) error {
	if d.records == nil {
		return nil
	}
	w := batchWriter{m: m, atomic: d.atomic, version: m.version()}
	for r := range d.records {
		if err := w.add(r); err != nil {
			return err
		}
	}
	return w.flush()
}

// batchWriter encodes records into a batch and replays each batch when it is
// full.
type batchWriter struct {
	m       *Machine
	atomic  bool
	version metadata.MetadataVersion
	records []metadata.Record
	buf     []byte
	ends    []int // of each record in buf
	size    int   // of the batch before, as the next is likely to be
}

func (w *batchWriter) add(r metadata.Record) error {
	if w.buf == nil {
		w.buf = make([]byte, 0, w.size)
	}
	start := len(w.buf)
	buf, err := metadata.AppendRecord(w.buf, r, w.version.RecordVersion(r))
	if err != nil {
		return err
	}
	w.buf = buf
	if len(w.records) == w.m.cfg.MaxRecords || len(buf) > w.m.cfg.MaxBatchBytes {
		if w.atomic || len(w.records) == 0 {
			return errTooLarge
		}
		rest := slices.Clone(buf[start:])
		w.buf = buf[:start]
		if err := w.flush(); err != nil {
			return err
		}
		w.buf = append(w.buf, rest...)
	}
	w.records = append(w.records, r)
	w.ends = append(w.ends, len(w.buf))
	return nil
}

func (w *batchWriter) flush() error {
	if len(w.records) == 0 {
		return nil
	}
	m := w.m
	head := m.log.head()
	base := head.last + 1
	next, err := m.log.replay(head, base, m.epoch, len(w.records), func(i int) (metadata.Record, error) { return w.records[i], nil })
	if err != nil {
		return err
	}
	m.log.append(next)
	values := make([][]byte, len(w.records))
	start := 0
	for i, end := range w.ends {
		values[i] = w.buf[start:end:end]
		start = end
	}
	if a := (Append{base, values}); m.cfg.Append != nil {
		m.cfg.Append(a)
	} else {
		m.out.Appends = append(m.out.Appends, a)
	}
	// The values keep buf; nobody keeps the rest.
	clear(w.records)
	*w = batchWriter{m: m, atomic: w.atomic, version: w.version, records: w.records[:0], ends: w.ends[:0], size: len(w.buf) + 1024}
	return nil
}
