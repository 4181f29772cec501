package broker

import (
	"context"
	"errors"
	"fmt"

	"kbench/kafka/metadata"
	"kbench/zkcontroller/zk"
)

func (p *zkPlane) featuresEpoch() int64 { return p.featureEpoch.Load() }

// loadFeatures takes over /feature, arming its watch also where it is missing.
// A node that is disabled has no features.
func (p *zkPlane) loadFeatures(ctx context.Context, s *zk.Session) error {
	e := s.Do(ctx, zk.Exists(zk.FeaturePath))
	if e.Err != nil {
		return fmt.Errorf("watch %s: %w", zk.FeaturePath, e.Err)
	}
	var f zk.Feature
	version := int64(-1)
	if e.Exists {
		r := s.Do(ctx, zk.Get(zk.FeaturePath))
		switch {
		case errors.Is(r.Err, zk.ErrNoNode): // its watch will tell
		case r.Err != nil:
			return fmt.Errorf("read %s: %w", zk.FeaturePath, r.Err)
		default:
			var err error
			if f, err = zk.DecodeFeature(r.Data); err != nil {
				return err
			}
			if version = int64(r.Version); !f.Enabled {
				f.Features, version = nil, -1
			}
		}
	}
	if p.featureEpoch.Load() == version && version < 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	base := p.b.Image()
	d := metadata.NewDelta(base)
	for name := range base.Features() {
		if _, keep := f.Features[name]; !keep {
			d.SetFeature(name, 0)
		}
	}
	for name, level := range f.Features {
		d.SetFeature(name, level)
	}
	p.b.publish(d.Apply(base.Offset(), base.Epoch()))
	p.featureEpoch.Store(version)
	return nil
}
