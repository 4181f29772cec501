package broker

import (
	"context"
	"errors"
	"fmt"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// producerIDTries bounds how often a block is asked for when other brokers take
// one at the same time.
const producerIDTries = 100

// blockTaker is a plane in which brokers take blocks of producer ids themselves.
type blockTaker interface {
	takesProducerIDs() bool
	takeProducerIDs(ctx context.Context) (first, length int64, err error)
}

func (p *zkPlane) takesProducerIDs() bool { return !p.cfg.Protocol.AllocateProducerIDs() }

// takeProducerIDs claims the next block in /latest_producer_id_block, as brokers
// did before KIP-730.
func (p *zkPlane) takeProducerIDs(ctx context.Context) (first, length int64, err error) {
	s := p.session.Load()
	if s == nil {
		return 0, 0, errNoSession
	}
	for range producerIDTries {
		r := s.Do(ctx, zk.Get(zk.ProducerIDBlockPath))
		if r.Err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", zk.ProducerIDBlockPath, r.Err)
		}
		if len(r.Data) > 0 {
			last, err := zk.DecodeProducerIDBlock(r.Data)
			if err != nil {
				return 0, 0, err
			}
			first = last.End + 1
		}
		block := zk.ProducerIDBlock{Broker: p.b.cfg.ID, First: first, End: first + zk.ProducerIDBlockSize - 1}
		w := s.Do(ctx, zk.Set(zk.ProducerIDBlockPath, zk.EncodeProducerIDBlock(block), r.Version))
		if w.Err == nil {
			return first, zk.ProducerIDBlockSize, nil
		}
		if !errors.Is(w.Err, zk.ErrBadVersion) {
			return 0, 0, fmt.Errorf("write %s: %w", zk.ProducerIDBlockPath, w.Err)
		}
	}
	return 0, 0, fmt.Errorf("%s changed %d times meanwhile: %w", zk.ProducerIDBlockPath, producerIDTries, kafka.CoordinatorNotAvailable)
}
