package zk

import (
	"encoding/json"
	"fmt"
	"strconv"

	"kbench/kafka"
)

// PartitionState is the data of a state znode.
type PartitionState struct {
	Leader          kafka.BrokerID
	LeaderEpoch     kafka.LeaderEpoch
	ControllerEpoch kafka.ControllerEpoch // of the controller that wrote it
	ISR             []kafka.BrokerID
	Recovery        kafka.LeaderRecoveryState // written only when RECOVERING (KIP-704)
}

// EncodeState gives the bytes Kafka 3.9 writes.
func EncodeState(s PartitionState) []byte {
	b := make([]byte, 0, 96)
	b = append(b, `{"controller_epoch":`...)
	b = strconv.AppendInt(b, int64(s.ControllerEpoch), 10)
	b = append(b, `,"leader":`...)
	b = strconv.AppendInt(b, int64(s.Leader), 10)
	b = append(b, `,"version":1`...)
	if s.Recovery != kafka.Recovered {
		b = append(b, `,"leader_recovery_state":`...)
		b = strconv.AppendInt(b, int64(s.Recovery), 10)
	}
	b = append(b, `,"leader_epoch":`...)
	b = strconv.AppendInt(b, int64(s.LeaderEpoch), 10)
	b = append(b, `,"isr":`...)
	b = appendIDs(b, s.ISR)
	return append(b, '}')
}

func appendIDs(b []byte, ids []kafka.BrokerID) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// DecodeState reads a state znode. A missing or mistyped member is an error.
func DecodeState(b []byte) (PartitionState, error) {
	if s, ok := scanState(b); ok {
		return s, nil
	}
	var j struct {
		Leader          *kafka.BrokerID           `json:"leader"`
		LeaderEpoch     *kafka.LeaderEpoch        `json:"leader_epoch"`
		ControllerEpoch *kafka.ControllerEpoch    `json:"controller_epoch"`
		ISR             []kafka.BrokerID          `json:"isr"`
		Recovery        kafka.LeaderRecoveryState `json:"leader_recovery_state"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return PartitionState{}, fmt.Errorf("partition state %.80q: %w", b, err)
	}
	if j.Leader == nil || j.LeaderEpoch == nil || j.ControllerEpoch == nil || j.ISR == nil {
		return PartitionState{}, fmt.Errorf("partition state %.80q lacks leader, leader_epoch, controller_epoch or isr", b)
	}
	return PartitionState{*j.Leader, *j.LeaderEpoch, *j.ControllerEpoch, j.ISR, j.Recovery}, nil
}

// scanState reads exactly the form that EncodeState writes, without
// reflection: a failover decodes one for every partition of the cluster.
func scanState(b []byte) (PartitionState, bool) {
	p := scanner{b: b}
	p.lit(`{"controller_epoch":`)
	ce := p.int()
	p.lit(`,"leader":`)
	leader := p.int()
	p.lit(`,"version":1`)
	var rec int64
	if p.has(`,"leader_recovery_state":`) {
		rec = p.int()
	}
	p.lit(`,"leader_epoch":`)
	le := p.int()
	p.lit(`,"isr":[`)
	isr := make([]kafka.BrokerID, 0, 3)
	for !p.bad && !p.has(`]`) {
		if len(isr) > 0 {
			p.lit(`,`)
		}
		isr = append(isr, kafka.BrokerID(p.int()))
	}
	p.lit(`}`)
	ok := !p.bad && len(p.b) == 0
	return PartitionState{
		Leader: kafka.BrokerID(leader), LeaderEpoch: kafka.LeaderEpoch(le),
		ControllerEpoch: kafka.ControllerEpoch(ce), ISR: isr, Recovery: kafka.LeaderRecoveryState(rec),
	}, ok
}

// scanner walks over literal text and 32-bit numbers; bad sticks.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) has(lit string) bool {
	if len(s.b) < len(lit) || string(s.b[:len(lit)]) != lit {
		return false
	}
	s.b = s.b[len(lit):]
	return true
}

func (s *scanner) lit(lit string) {
	if !s.bad && !s.has(lit) {
		s.bad = true
	}
}

func (s *scanner) int() int64 {
	neg := s.has("-")
	var n int64
	i := 0
	for i < len(s.b) && i < 10 && s.b[i] >= '0' && s.b[i] <= '9' {
		n = n*10 + int64(s.b[i]-'0')
		i++
	}
	if i == 0 || n > 1<<31-1 {
		s.bad = true
	}
	s.b = s.b[i:]
	if neg {
		return -n
	}
	return n
}
