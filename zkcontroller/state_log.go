package zkcontroller

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// stateLog is Kafka's state-change.log as it was before 1.1: a line for every
// partition of every request to a broker, each handed to the system on its own
// by the event thread. A nil stateLog writes nothing.
type stateLog struct {
	f    *os.File
	id   kafka.BrokerID
	line []byte
	err  error // the first; nothing is written after it
}

func openStateLog(path string, id kafka.BrokerID) (*stateLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("state change log: %w", err)
	}
	return &stateLog{f: f, id: id}, nil
}

func (l *stateLog) close() error {
	if l == nil {
		return nil
	}
	if err := l.f.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}

// write logs the partitions of one request.
func (l *stateLog) write(epoch kafka.ControllerEpoch, e machine.Effect) {
	if l == nil || l.err != nil {
		return
	}
	switch e := e.(type) {
	case *machine.LeaderAndISR:
		for i := range e.Partitions {
			p := &e.Partitions[i]
			role := "become-follower"
			if p.State.Leader == e.Broker {
				role = "become-leader"
			}
			l.begin(epoch, "Sending "+role+" LeaderAndIsr request ")
			l.state(&p.State)
			l.end(e.Broker, p.Topic, p.Partition)
		}
	case *machine.UpdateMetadata:
		for i := range e.Partitions {
			p := &e.Partitions[i]
			l.begin(epoch, "Sending UpdateMetadata request ")
			l.state(&p.State)
			l.end(e.Broker, p.Topic, p.Partition)
		}
	case *machine.StopReplica:
		for _, p := range e.Partitions {
			l.begin(epoch, "Sending StopReplica request (delete=")
			l.line = append(strconv.AppendBool(l.line, p.Delete), ')')
			l.end(e.Broker, p.Topic, p.Partition)
		}
	}
}

func (l *stateLog) begin(epoch kafka.ControllerEpoch, what string) {
	l.line = time.Now().AppendFormat(append(l.line[:0], '['), "2006-01-02 15:04:05,000")
	l.line = strconv.AppendInt(append(l.line, "] TRACE [Controller id="...), int64(l.id), 10)
	l.line = strconv.AppendInt(append(l.line, " epoch="...), int64(epoch), 10)
	l.line = append(append(l.line, "] "...), what...)
}

func (l *stateLog) state(s *machine.LeaderISR) {
	l.line = strconv.AppendInt(append(l.line, "(leader="...), int64(s.Leader), 10)
	l.line = strconv.AppendInt(append(l.line, ",leaderEpoch="...), int64(s.LeaderEpoch), 10)
	l.line = append(l.line, ",isr="...)
	for i, id := range s.ISR {
		if i > 0 {
			l.line = append(l.line, ' ')
		}
		l.line = strconv.AppendInt(l.line, int64(id), 10)
	}
	l.line = strconv.AppendInt(append(l.line, ",partitionEpoch="...), int64(s.Version), 10)
	l.line = append(l.line, ')')
}

func (l *stateLog) end(broker kafka.BrokerID, topic string, partition int32) {
	l.line = strconv.AppendInt(append(l.line, " to broker "...), int64(broker), 10)
	l.line = append(append(l.line, " for partition "...), topic...)
	l.line = strconv.AppendInt(append(l.line, '-'), int64(partition), 10)
	if _, err := l.f.Write(append(l.line, '\n')); err != nil && l.err == nil {
		l.err = err
	}
}
