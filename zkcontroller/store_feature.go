package zkcontroller

import (
	"context"
	"errors"
	"fmt"

	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// feature reads /feature; version -1 where it is missing.
func (s *store) feature(ctx context.Context) (zk.Feature, int32, error) {
	r := s.session.Do(ctx, zk.Get(zk.FeaturePath))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return zk.Feature{}, -1, nil
	}
	if r.Err != nil {
		return zk.Feature{}, -1, fmt.Errorf("read %s: %w", zk.FeaturePath, r.Err)
	}
	f, err := zk.DecodeFeature(r.Data)
	if err != nil {
		err = fmt.Errorf("%w; correct or remove %s", err, zk.FeaturePath)
	}
	return f, r.Version, err
}

// setFeature writes /feature over the version that was read.
func (s *store) setFeature(ctx context.Context, f zk.Feature, version int32) zk.Result {
	o := zk.Set(zk.FeaturePath, zk.EncodeFeature(f), version)
	if version < 0 {
		o = zk.Create(zk.FeaturePath, zk.EncodeFeature(f))
	}
	return s.session.Do(ctx, o.Fenced(s.fence))
}

func (s *store) ensureFeature(ctx context.Context, b *machine.EnsureFeature) error {
	have, version, err := s.feature(ctx)
	if err != nil {
		return err
	}
	want := zk.Feature{Version: b.Version, Enabled: b.Enabled}
	if have.Enabled && b.Enabled {
		want.Features = have.Features
	}
	if version >= 0 && have.Equal(&want) {
		return nil
	}
	r := s.setFeature(ctx, want, version)
	if r.Resent && (errors.Is(r.Err, zk.ErrNodeExists) || errors.Is(r.Err, zk.ErrBadVersion)) {
		return nil // its own work, or a predecessor's; the fence held
	}
	if r.Err != nil {
		return fmt.Errorf("write %s: %w", zk.FeaturePath, r.Err)
	}
	return nil
}

func (s *store) readFeature(ctx context.Context, b *machine.ReadFeature) error {
	f, version, err := s.feature(ctx)
	b.Version, b.Features = version, f.Features
	return err
}

func (s *store) writeFeature(ctx context.Context, b *machine.WriteFeature) error {
	b.Result = outcome(s.setFeature(ctx, zk.Feature{Version: b.Format, Enabled: true, Features: b.Features}, b.Version))
	return s.session.Err()
}
