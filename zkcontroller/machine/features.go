package machine

import (
	"fmt"
	"maps"

	"kbench/kafka"
)

// UpgradeType says which way a feature's level may go.
type UpgradeType int8

// Kafka's values. Version 0 of the request has a flag instead: UnsafeDowngrade
// where it is set.
const (
	Upgrade         UpgradeType = 1
	SafeDowngrade   UpgradeType = 2
	UnsafeDowngrade UpgradeType = 3
)

// UpdateFeatures asks to finalize other levels of features (KIP-584). The reply
// is an UpdateFeaturesReply.
type UpdateFeatures struct {
	Call         CallID
	ValidateOnly bool
	Updates      []FeatureUpdate
}

// FeatureUpdate is one of them; level 0 takes the feature back.
type FeatureUpdate struct {
	Name  string
	Level int16
	Type  UpgradeType
}

// UpdateFeaturesReply answers each update, in the order of the request.
type UpdateFeaturesReply struct {
	Code    kafka.ErrorCode
	Text    string
	Results []FeatureResult
}

// FeatureResult is the outcome of one update.
type FeatureResult struct {
	Code kafka.ErrorCode
	Text string
}

// ReadFeature reads /feature.
type ReadFeature struct {
	Version  int32 // of the znode
	Features map[string]int16
}

// WriteFeature rewrites /feature if its version is as read, fenced.
type WriteFeature struct {
	Version  int32
	Format   int // version of the JSON
	Features map[string]int16
	Result   WriteResult
}

// updateFeatures judges each update on its own; those that are good are written
// together.
func (m *Machine) updateFeatures(f *flow, e UpdateFeatures) error {
	if !m.cfg.Protocol.Features() {
		m.reply(e.Call, UpdateFeaturesReply{
			Code: kafka.InvalidRequest,
			Text: fmt.Sprintf("Feature versioning needs inter.broker.protocol.version 2.7 or newer, this is %v.", m.cfg.Protocol),
		}, false)
		return nil
	}
	reply := UpdateFeaturesReply{Results: make([]FeatureResult, len(e.Updates))}
	read := &ReadFeature{}
	if err := f.do(read); err != nil {
		return err
	}
	next := maps.Clone(read.Features)
	if next == nil {
		next = map[string]int16{}
	}
	seen := map[string]bool{}
	for i := range e.Updates {
		u, r := &e.Updates[i], &reply.Results[i]
		if seen[u.Name] {
			r.Code, r.Text = kafka.InvalidRequest, "The feature is in the request twice."
			continue
		}
		seen[u.Name] = true
		if r.Code, r.Text = m.judgeFeature(u, read.Features); r.Code != kafka.None {
			continue
		}
		if next[u.Name] = u.Level; u.Level == 0 {
			delete(next, u.Name)
		}
	}
	if e.ValidateOnly || maps.Equal(next, read.Features) {
		m.reply(e.Call, reply, false)
		return nil
	}
	w := &WriteFeature{Version: read.Version, Format: m.cfg.Protocol.FeatureNode(), Features: next}
	if err := f.do(w); err != nil {
		return err
	}
	if w.Result.Code != OK {
		for i := range reply.Results {
			if r := &reply.Results[i]; r.Code == kafka.None {
				r.Code, r.Text = kafka.FeatureUpdateFailed, "Unable to update finalized features: "+w.Result.String()
			}
		}
	}
	m.reply(e.Call, reply, false)
	return nil
}

// judgeFeature says whether one update may be made.
func (m *Machine) judgeFeature(u *FeatureUpdate, have map[string]int16) (kafka.ErrorCode, string) {
	now, finalized := have[u.Name]
	downgrade := u.Type == SafeDowngrade || u.Type == UnsafeDowngrade
	switch {
	case u.Name == "":
		return kafka.InvalidRequest, "Can not provide an empty feature name."
	case u.Type < Upgrade || u.Type > UnsafeDowngrade:
		return kafka.InvalidRequest, "Received unknown upgrade type."
	case u.Level < 0, u.Level == 0 && !downgrade:
		return kafka.InvalidRequest, fmt.Sprintf("Can not provide maxVersionLevel: %d less than 1 without setting the allowDowngrade flag to true in the request.", u.Level)
	case u.Level == 0 && !finalized:
		return kafka.InvalidRequest, "Can not delete non-existing finalized feature."
	case u.Level == 0:
		return kafka.None, ""
	case finalized && u.Level == now && downgrade:
		return kafka.InvalidRequest, fmt.Sprintf("Can not downgrade finalized feature: '%s' from existing maxVersionLevel:%d to provided maxVersionLevel:%d.", u.Name, now, u.Level)
	case finalized && u.Level == now:
		return kafka.InvalidRequest, fmt.Sprintf("Can not upgrade a finalized feature from existing maxVersionLevel:%d to the same value.", now)
	case finalized && u.Level < now && !downgrade:
		return kafka.InvalidRequest, fmt.Sprintf("Can not downgrade finalized feature from existing maxVersionLevel:%d to provided maxVersionLevel:%d without setting the allowDowngrade flag in the request.", now, u.Level)
	case finalized && u.Level > now && downgrade:
		return kafka.InvalidRequest, fmt.Sprintf("When the allowDowngrade flag set in the request, the provided maxVersionLevel:%d can not be greater than existing maxVersionLevel:%d.", u.Level, now)
	}
	return m.supported(u)
}

// supported asks all brokers that are up, this controller's among them.
func (m *Machine) supported(u *FeatureUpdate) (kafka.ErrorCode, string) {
	if own := m.ctx.broker(m.cfg.ID); own == nil || own.Features[u.Name] == ([2]int16{}) {
		return kafka.InvalidRequest, "Could not apply finalized feature update because the provided feature is not supported."
	}
	for _, b := range m.ctx.registered() {
		if r, ok := b.Features[u.Name]; !ok || u.Level < r[0] || u.Level > r[1] {
			return kafka.InvalidRequest, "Could not apply finalized feature update because brokers were found to have incompatible versions for the feature."
		}
	}
	return kafka.None, ""
}

func (UpdateFeatures) input() {}
func (*ReadFeature) batch()   {}
func (*ReadFeature) effect()  {}
func (*WriteFeature) batch()  {}
func (*WriteFeature) effect() {}
