package broker

import (
	"context"

	"kbench/zkcontroller/zk"
)

// logDirFailed tells the controller, which then asks for all replicas of this
// broker by LeaderAndIsr, and learns by the answers which of them are gone. It
// tries again until a session has taken it.
func (p *zkPlane) logDirFailed(ctx context.Context) {
	for {
		if s := p.session.Load(); s != nil {
			r := s.Do(ctx, zk.CreateSequential(zk.LogDirEventsPath+"/log_dir_event_", zk.EncodeLogDirEvent(p.b.cfg.ID)))
			if r.Err == nil {
				return
			}
			p.b.log.Warn("the controller does not know yet of a failed log directory", "reason", r.Err)
		}
		if !pause(ctx, reconnectPause) {
			return
		}
	}
}
