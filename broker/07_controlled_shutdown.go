package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// leave asks the controller to move this broker's leaderships, a few times
// with a back-off, as Kafka's broker does. It is granted when none remains.
func (p *zkPlane) leave(ctx context.Context) error {
	id := int32(p.b.cfg.ID)
	p.b.cfg.Trace.Emit(trace.Event{Kind: trace.ShutdownRequested, Broker: id})
	var err error
	for try := 1; ; try++ {
		if err = p.askToLeave(ctx); err == nil {
			p.b.cfg.Trace.Emit(trace.Event{Kind: trace.ShutdownGranted, Broker: id, N: int64(try)})
			p.b.log.Info("controlled shutdown granted", "tries", try)
			return nil
		}
		p.b.log.Warn("controlled shutdown not granted", "try", try, "of", p.cfg.ShutdownTries, "reason", err)
		if try == p.cfg.ShutdownTries || !pause(ctx, p.cfg.ShutdownBackoff) {
			return fmt.Errorf("not granted in %d tries: %w", try, err)
		}
	}
}

func (p *zkPlane) askToLeave(ctx context.Context) error {
	kresp, err := p.shutdown.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		req := kmsg.NewPtrControlledShutdownRequest()
		req.BrokerID, req.BrokerEpoch = int32(p.b.cfg.ID), int64(p.epoch())
		var err error
		req.Version, err = v.Pick(int16(kmsg.ControlledShutdown), 0, p.cfg.Protocol.ControlledShutdown())
		return req, err
	})
	if err != nil {
		return err
	}
	resp := kresp.(*kmsg.ControlledShutdownResponse)
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return fmt.Errorf("ControlledShutdown: %w", err)
	}
	if n := len(resp.PartitionsRemaining); n > 0 {
		first := resp.PartitionsRemaining[0]
		return fmt.Errorf("ControlledShutdown: %d partitions have no other leader, %s-%d among them", n, first.Topic, first.Partition)
	}
	return nil
}
