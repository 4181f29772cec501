package machine

import (
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

const uncleanConfig = "unclean.leader.election.enable"

// loadConfigs begins to follow /config/changes and reads what of the brokers'
// dynamic configuration concerns the controller.
func (m *Machine) loadConfigs(f *flow) error {
	changes := &ReadConfigChanges{After: -1, SkipOld: true}
	if err := f.do(changes); err != nil {
		return err
	}
	m.ctx.configsSeen = changes.Last
	_, err := m.readBrokerConfigs(f)
	return err
}

// readBrokerConfigs takes over whether unclean elections are the default, and
// reports whether they became so.
func (m *Machine) readBrokerConfigs(f *flow) (enabled bool, err error) {
	b := &ReadBrokerConfigs{ID: m.cfg.ID}
	if err := f.do(b); err != nil {
		return false, err
	}
	was := m.ctx.unclean
	m.ctx.unclean = m.cfg.UncleanElection
	for _, config := range []map[string]string{b.Default, b.Own} {
		if v, ok := config[uncleanConfig]; ok {
			m.ctx.unclean = strings.EqualFold(v, "true")
		}
	}
	return m.ctx.unclean && !was, nil
}

// configChanged obeys changes of configuration that allow unclean elections:
// those of topics (TopicUncleanLeaderElectionEnable) and the brokers' default
// (UncleanLeaderElectionEnable). Partitions without a leader are tried again.
func (m *Machine) configChanged(f *flow) error {
	changes := &ReadConfigChanges{After: m.ctx.configsSeen}
	if err := f.do(changes); err != nil {
		return err
	}
	m.ctx.configsSeen = max(m.ctx.configsSeen, changes.Last)
	own := "brokers/" + strconv.Itoa(int(m.cfg.ID))
	configs := &ReadConfigs{}
	all := false
	for _, entity := range changes.Entities {
		switch name, isTopic := strings.CutPrefix(entity, "topics/"); {
		case isTopic && m.ctx.topics[name] != nil && !slices.Contains(configs.Topics, name):
			configs.Topics = append(configs.Topics, name)
		case entity == own || entity == "brokers/<default>":
			all = true
		}
	}
	if all {
		enabled, err := m.readBrokerConfigs(f)
		if err != nil {
			return err
		}
		all = enabled
	}
	if len(configs.Topics) > 0 {
		if err := f.do(configs); err != nil {
			return err
		}
	}
	allowed := map[string]bool{}
	for i, name := range configs.Topics {
		allowed[name] = strings.EqualFold(configs.Configs[i][uncleanConfig], "true")
	}
	var ps []*partition
	for _, p := range m.ctx.withoutLeader() {
		if all || allowed[p.topic.name] {
			ps = append(ps, p)
		}
	}
	_, err := m.elect(f, ps, metadata.ElectOffline, false)
	return err
}

// ReadConfigChanges lists /config/changes, arming its children watch, and reads
// the entries numbered above After; with SkipOld it only finds the Last.
type ReadConfigChanges struct {
	After    int64
	SkipOld  bool
	Entities []string // entity paths, for example topics/t, in order
	Last     int64    // the highest number there, After where there is none
}

// ReadBrokerConfigs reads the dynamic configuration of all brokers and of one.
type ReadBrokerConfigs struct {
	ID           kafka.BrokerID
	Default, Own map[string]string
}

// ConfigChanged: the children of /config/changes changed.
type ConfigChanged struct{}

func (*ReadConfigChanges) batch()  {}
func (*ReadConfigChanges) effect() {}
func (*ReadBrokerConfigs) batch()  {}
func (*ReadBrokerConfigs) effect() {}
func (ConfigChanged) input()       {}
