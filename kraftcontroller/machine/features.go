package machine

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// The ways to change a feature (KIP-778).
const (
	upgradeFeature         = 1
	safeDowngradeFeature   = 2
	unsafeDowngradeFeature = 3
)

// updateFeatures decides UpdateFeatures (57, KIP-584, KIP-778): all levels asked
// for are finalized, or none. kraft.version is no level of the metadata and is
// not decided here.
func (m *Machine) updateFeatures(r Request, req *kmsg.UpdateFeaturesRequest) error {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	records, err := m.featureRecords(req)
	if err != nil {
		err = admin.Faultf(admin.CodeOf(err), "The update failed for all features since the following feature had an error: %v", err)
		resp.ErrorCode, resp.ErrorMessage = told(err)
	}
	for _, u := range req.FeatureUpdates {
		answer := kmsg.NewUpdateFeaturesResponseResult() // sent before version 2
		answer.Feature = u.Feature
		answer.ErrorCode, answer.ErrorMessage = told(err)
		resp.Results = append(resp.Results, answer)
	}
	if req.ValidateOnly || err != nil {
		records = nil
	}
	_, err = m.carryOut(r, atomicOf(records, resp))
	return err
}

func (m *Machine) featureRecords(req *kmsg.UpdateFeaturesRequest) ([]metadata.Record, error) {
	proposed := map[string]int16{}
	for _, u := range req.FeatureUpdates {
		if _, twice := proposed[u.Feature]; twice {
			return nil, admin.Faultf(kafka.InvalidRequest, "Feature %.64s is listed twice.", u.Feature)
		}
		proposed[u.Feature] = u.MaxVersionLevel
	}
	levelOf := func(name string) int16 {
		if level, ok := proposed[name]; ok {
			return level
		}
		return m.image().FeatureLevel(name)
	}
	var records []metadata.Record
	for _, u := range req.FeatureUpdates {
		how := u.UpgradeType
		if req.Version == 0 {
			if how = upgradeFeature; u.AllowDowngrade {
				how = safeDowngradeFeature
			}
		}
		if err := m.judgeFeature(u.Feature, u.MaxVersionLevel, how, levelOf); err != nil {
			return nil, err
		}
		if u.MaxVersionLevel == m.image().FeatureLevel(u.Feature) {
			continue
		}
		records = append(records, m.aroundELR(u.Feature, u.MaxVersionLevel)...)
		records = append(records, &metadata.FeatureLevelRecord{Name: u.Feature, FeatureLevel: u.MaxVersionLevel})
	}
	return records, nil
}

// judgeFeature checks in Kafka's order.
func (m *Machine) judgeFeature(name string, level int16, how int8, levelOf func(string) int16) error {
	invalid := func(why string) error {
		return admin.Faultf(kafka.InvalidUpdateVersion, "Invalid update version %d for feature %.64s. %s", level, name, why)
	}
	current := m.image().FeatureLevel(name)
	if how < upgradeFeature || how > unsafeDowngradeFeature {
		return invalid("The controller does not support the given upgrade type.")
	}
	if level < 0 {
		return invalid("A feature version cannot be less than 0.")
	}
	if why := m.notSupported(name, level); why != "" {
		return invalid(why)
	}
	switch {
	case level < current && how == upgradeFeature:
		return invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > current && how != upgradeFeature:
		return invalid("Can't downgrade to a newer version.")
	}
	if name == metadata.MetadataVersionFeature {
		return judgeVersion(metadata.MetadataVersion(current), metadata.MetadataVersion(level), how)
	}
	if err := metadata.JudgeFeatureLevel(name, level, levelOf); err != nil {
		return invalid(err.Error())
	}
	return nil
}

// judgeVersion refuses to go back to a metadata.version that does not know all
// that the metadata may hold by now. To lose it is not supported either.
func judgeVersion(current, next metadata.MetadataVersion, how int8) error {
	if next >= current || !current.ChangedSince(next) {
		return nil
	}
	why := "Refusing to perform the requested downgrade because it might delete metadata information."
	if how == unsafeDowngradeFeature {
		why = "Unsafe metadata downgrade is not supported in this version."
	}
	return admin.Faultf(kafka.InvalidUpdateVersion, "Invalid metadata.version %d. Unsupported metadata.version downgrade from %s to %s. %s", next, current, next, why)
}

// notSupported says which node does not know a level of a feature: this
// controller, a registered broker, or another voter of the quorum, which from
// 3.7-IV0 on must have registered.
func (m *Machine) notSupported(name string, level int16) string {
	if why := outOfRange(fmt.Sprintf("Local controller %d", m.cfg.NodeID), metadata.SupportedFeatures(), name, level); why != "" {
		return why
	}
	for b := range m.image().Brokers() {
		if why := outOfRange(fmt.Sprintf("Broker %d", b.ID), b.Features, name, level); why != "" {
			return why
		}
	}
	if m.version() < metadata.V3_7_IV0 {
		return ""
	}
	registered := []kafka.BrokerID{m.cfg.NodeID}
	for c := range m.image().Controllers() {
		if c.ID == m.cfg.NodeID {
			continue
		}
		if why := outOfRange(fmt.Sprintf("Controller %d", c.ID), c.Features, name, level); why != "" {
			return why
		}
		registered = append(registered, c.ID)
	}
	for _, id := range m.voters {
		if !slices.Contains(registered, id) {
			return fmt.Sprintf("controller %d has not registered, and may not support this feature", id)
		}
	}
	return ""
}

// outOfRange says that a node does not know a level; level 0 is known to a node
// that has never heard of the feature.
func outOfRange(node string, ranges map[string]metadata.VersionRange, name string, level int16) string {
	known := ranges[name]
	switch {
	case level >= known.Min && level <= known.Max:
		return ""
	case known.Max == 0:
		return node + " does not support this feature."
	}
	return fmt.Sprintf("%s only supports versions %d-%d", node, known.Min, known.Max)
}

// aroundELR gives the records that go before a level of the eligible leader
// replicas (KIP-966). From when they are kept on, min.insync.replicas is the
// same on all brokers and said in the metadata; when they are not, those that
// there are go.
func (m *Machine) aroundELR(name string, level int16) []metadata.Record {
	if name != metadata.ELRVersionFeature {
		return nil
	}
	if level == 0 {
		return []metadata.Record{&metadata.ClearElrRecord{}}
	}
	if m.elrEnabled() {
		return nil
	}
	var records []metadata.Record
	if _, set := m.image().Config(metadata.ConfigResource{Type: metadata.BrokerConfig})[minISRConfig]; !set {
		records = append(records, leastMinISR())
	}
	for res, values := range m.image().Configs() {
		if _, set := values[minISRConfig]; set && res.Type == metadata.BrokerConfig && res.Name != "" {
			records = append(records, &metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: minISRConfig})
		}
	}
	return records
}

// leastMinISR says Kafka's default of min.insync.replicas for all brokers.
func leastMinISR() *metadata.ConfigRecord {
	value := "1"
	return &metadata.ConfigRecord{ResourceType: metadata.BrokerConfig, Name: minISRConfig, Value: &value}
}
