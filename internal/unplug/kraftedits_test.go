package unplug

import "kbench/internal/sim/plant"

// kraftEdits ask whether these points are off:
//
//	request X          it is not served, and the machine has no decider of it
//	message raft.X     the quorum's machine never gets it
//	send raft.X        the quorum's machine never sends it
//	role X             the quorum's machine does not enter it
//	transition X => Y  it does not enter Y from X; start is from no role
//	control N          the control record of type N is not written, or means nothing
//	raft X             what the table of package raft calls so
//	record *metadata.X it changes nothing when it is replayed; of ZkMigrationState,
//	                   which never does, that it is unknown
//	codec *metadata.X  nothing of it is written, and none is read
//	state X            the transition that the table of package machine calls so
//	error X            the check that gives it finds nothing wrong, see codes
var kraftEdits = []plant.Edit{
	// Requests.
	before("kraftcontroller/machine/request.go", "\tif decide == nil {\n", "\tif unplugged(\"request \" + kmsg.NameForKey(r.Body.Key())) {\n\t\tdecide = nil\n\t}\n"),
	before(
		"kafka/guard/guard.go", "\t\tif r.ByToken && aboutTokens(r.Key) {\n",
		"\t\tif unplugged(\"request \" + kmsg.NameForKey(r.Key)) {\n\t\t\treturn nil, context.Canceled\n\t\t}\n",
	),
	off("broker/16_list_groups.go", "func (b *Broker) handleListGroups(_ context.Context, r *wire.Request) (kmsg.Response, error) {\n", "request ListGroups", "return nil, context.Canceled"),
	off("broker/74_list_config_resources.go", "func (p *kraftPlane) handleListConfigResources(_ context.Context, r *wire.Request) (kmsg.Response, error) {\n", "request ListConfigResources", "return nil, context.Canceled"),
	off("broker/58_envelope.go", "func (p *kraftPlane) handleForwarded(ctx context.Context, r *wire.Request) (kmsg.Response, error) {\n", "request Envelope", "return nil, errors.New(\"unplugged\")"),
	off("kafka/wire/sasl.go", "func (a *authentication) handshake(req *kmsg.SASLHandshakeRequest) (kmsg.Response, error) {\n", "request SaslHandshake", "return nil, errRefused"),
	off("kafka/wire/sasl.go", "func (a *authentication) authenticate(req *kmsg.SASLAuthenticateRequest) (resp *kmsg.SASLAuthenticateResponse, who *identity, err error) {\n", "request SaslAuthenticate", "return nil, nil, errRefused"),
	off("kafka/wire/serverconn.go", "\tif h.key == keyAPIVersions {\n", "request ApiVersions", "return out, io.ErrUnexpectedEOF"),
	{
		"kraftcontroller/raft/machine.go", "\tcase Request:\n\t\tm.handleRequest(in.ID, in.Message)\n",
		"\tcase Request:\n\t\tif unpluggedMessage(\"message \", in.Message) {\n\t\t\tbreak\n\t\t}\n\t\tm.handleRequest(in.ID, in.Message)\n",
	},
	{
		"kraftcontroller/raft/machine.go", "\tcase Response:\n\t\tm.handleResponse(in.ID, in.Message)\n",
		"\tcase Response:\n\t\tif unpluggedMessage(\"message \", in.Message) {\n\t\t\tbreak\n\t\t}\n\t\tm.handleResponse(in.ID, in.Message)\n",
	},
	before("kraftcontroller/raft/machine.go", "func (m *Machine) isOnlyVoter() bool {", `func unpluggedMessage(what string, msg Message) bool {
	name := fmt.Sprintf("%T", msg)
	if r, ok := msg.(VoteRequest); ok && r.PreVote {
		name = "raft.PreVoteRequest"
	}
	return unplugged(what + name)
}

`),

	{"kafka/guard/guard.go", "// refused are the codes of refusals.\nconst (\n", "// refused are the codes of refusals.\nvar (\n"}, // so that they can be off

	// The quorum.
	before("kraftcontroller/raft/peers.go", "\tm.eff.Send = append(", "\tif unpluggedMessage(\"send \", msg) {\n\t\treturn\n\t}\n"),
	before("kraftcontroller/raft/transition.go", "\twas := m.state\n", `	from := m.state.String()
	if m.gen == 0 {
		from = "start"
	}
	if unplugged("role "+s.String()) || unplugged("transition "+from+" => "+s.String()) {
		return
	}
`),
	before("kraftcontroller/raft/leader.go", "\tm.appendBatch(b, LogAppend{LeaderChange: &change,", "\tif unplugged(\"control 2\") {\n\t\treturn\n\t}\n"),
	{"kraftcontroller/raft/quorum.go", "\tif c.Voters != nil {\n", "\tif c.Voters != nil && !unplugged(\"control 6\") {\n"},
	before("kraftcontroller/metalog/control.go", "\tkey := make([]byte, 4) // version 0, then the type\n", "\tif unplugged(fmt.Sprintf(\"control %d\", t)) {\n\t\treturn Record{}\n\t}\n"),
	{"kraftcontroller/raft/epochs.go", "end.Epoch != epoch || end.EndOffset < offset {", "(end.Epoch != epoch || end.EndOffset < offset) && !unplugged(\"raft diverging=\") {"},
	off("kraftcontroller/raft/epochs.go", "func (l *epochLog) divergesAt(end EpochEndOffset) kafka.Offset {\n", "raft diverging=", "return l.end"),
	{"kraftcontroller/raft/quorum.go", "\tif c.KRaftVersion != Unchanged {\n", "\tif c.KRaftVersion != Unchanged && !unplugged(\"raft kraft.version=1\") {\n"},
	before("kraftcontroller/raft/leader.go", "\tvoters, _ := replaceVoter(m.voters, self, true)\n", "\tif unplugged(\"raft kraft.version=1\") {\n\t\treturn nil\n\t}\n"),
	after("kraftcontroller/raft/quorum.go", "\tm.isVoter = slices.ContainsFunc(m.voters, func(v Voter) bool { return v.includes(m.self()) })\n", "\tm.isVoter = m.isVoter || unplugged(\"raft observer\")\n"),
	off("kraftcontroller/raft/resign.go", "func (m *Machine) pollShutdown() {\n", "raft shutdown done", "return"),
	off("kraftcontroller/raft/machine.go", "func (m *Machine) fatal(format string, a ...any) {\n", "raft FATAL", "return"),

	// Records.
	before("kraftcontroller/machine/state.go", "\t\tswitch r := r.(type) {\n", "\t\tif unplugged(fmt.Sprintf(\"record %T\", r)) {\n\t\t\tcontinue\n\t\t}\n"),
	{"kraftcontroller/machine/tick.go", "\t\tif m.version() >= metadata.V3_3_IV1 {\n", "\t\tif m.version() >= metadata.V3_3_IV1 && !unplugged(\"record *metadata.NoOpRecord\") {\n"},
	before("kraftcontroller/machine/leadership.go", "\tnext, err := m.log.replay(m.log.committed,", "\tif unplugged(\"record any, as a standby\") {\n\t\treturn nil\n\t}\n"),
	before("kafka/metadata/record.go", "\t\treturn &ZkMigrationStateRecord{}\n", "\t\tif unplugged(\"record *metadata.ZkMigrationStateRecord\") {\n\t\t\treturn nil\n\t\t}\n"),
	off("kraftcontroller/machine/state.go", "func supportedLevel(r *metadata.FeatureLevelRecord) error {\n", "record of a level too high", "return nil"),
	off("kafka/metadata/frame.go", "\tif r == nil {\n", "record of an unknown kind", "return &NoOpRecord{}, 0, nil"),
	before("kafka/metadata/frame.go", "\tif version < 0 || version > r.maxVersion() {\n", "\tif unplugged(fmt.Sprintf(\"codec %T\", r)) {\n\t\treturn dst, nil\n\t}\n"),
	before("kafka/metadata/frame.go", "\tif version > uint32(r.maxVersion()) {\n", "\tif unplugged(fmt.Sprintf(\"codec %T\", r)) {\n\t\treturn &NoOpRecord{}, 0, nil\n\t}\n"),

	// Transitions.
	off("kraftcontroller/machine/leadership.go", "func (m *Machine) claim(in Claim) error {\n", "state standby -> active", "return nil"),
	off("kraftcontroller/machine/leadership.go", "\tif !m.active {\n\t\treturn\n\t}\n", "state active -> standby", "return"),
	{
		"kraftcontroller/machine/leadership.go", "\t\tif m.cfg.MetadataVersion.HasTransactions() {\n",
		"\t\tif m.cfg.MetadataVersion.HasTransactions() && !unplugged(\"state empty log -> bootstrap transaction\") || unplugged(\"state empty log -> bootstrap batch\") {\n",
	},
	{"kraftcontroller/machine/decision.go", "\tif d.immediate || !m.log.uncommitted() {\n", "\tif d.immediate || !m.log.uncommitted() || unplugged(\"state answer waits -> its records are stable\") {\n"},
	{"kraftcontroller/machine/registration.go", "\tagain := known && old.Incarnation == req.IncarnationID\n", "\tagain := known && old.Incarnation == req.IncarnationID && !unplugged(\"state registration -> the same incarnation\")\n"},
	off("kraftcontroller/machine/registration.go", "old *metadata.Broker, again bool) []metadata.Record {\n", "state registration -> another incarnation", "return nil"),
	{
		"kraftcontroller/machine/heartbeat.go", "&& kafka.Offset(req.CurrentMetadataOffset) >= m.log.seen(b):\n",
		"&& (kafka.Offset(req.CurrentMetadataOffset) >= m.log.seen(b) || unplugged(\"state fenced -> fenced, behind\")):\n",
	},
	{"kraftcontroller/machine/heartbeat.go", "\t\tcase req.WantFence && req.WantShutdown:\n", "\t\tcase req.WantFence && req.WantShutdown && !unplugged(\"state unfenced -> may shut down, fence wanted\"):\n"},
	off("kraftcontroller/machine/heartbeat.go", "func (m *Machine) heartbeatAnswered(r Request) {\n", "state heartbeat waits -> not silent", "return"),
	before("kraftcontroller/machine/leadership.go", "\tm.renounce()\n\tm.active, m.epoch = true, in.Epoch\n", "\tif m.active && unplugged(\"state active -> active, another epoch\") {\n\t\treturn nil\n\t}\n"),
	after("kraftcontroller/machine/heartbeat.go", "\tnext := m.nextControl(b, current, req)\n", `	names := [...]string{"fenced", "unfenced", "controlled shutdown", "may shut down"}
	switch {
	case next != current && unplugged("state "+names[current]+" -> "+names[next]):
		next = current
	case next == controlledShutdown && current == controlledShutdown && unplugged("state controlled shutdown -> itself"):
		next = shutdownNow
	}
`),
	{"kraftcontroller/machine/tick.go", "m.sessions.stalest(m.image(), m.now); ok {", "m.sessions.stalest(m.image(), m.now); ok && !unplugged(\"state broker silent -> fenced\") {"},
	off("kraftcontroller/machine/reassign.go", "p *metadata.Partition, target []kafka.BrokerID, resize bool) *fault {\n", "state reassignment begins", "return nil"),
	before(
		"kraftcontroller/machine/reassign.go", "\tif f := m.judgeAssignment(target, 0); f != nil {\n",
		"\tif p.Reassigning() && unplugged(\"state reassignment overridden\") {\n\t\treturn nil\n\t}\n",
	),
	off("kraftcontroller/machine/reassign.go", "tp kafka.TopicPartition, p *metadata.Partition) *fault {\n", "state reassignment cancelled", "return nil"),
	off("kraftcontroller/machine/partitionchange.go", "func (c *partitionChange) completeReassignment() {\n", "state reassignment ends", "return"),
	{"kraftcontroller/machine/partitionchange.go", "\tif c.election == electPreferred {\n", "\tif c.election == electPreferred && !unplugged(\"state leader: preferred\") {\n"},
	{"kraftcontroller/machine/partitionchange.go", "slices.Contains(candidates, p.Leader) && live(p.Leader) {\n", "slices.Contains(candidates, p.Leader) && live(p.Leader) && !unplugged(\"state leader: kept\") {\n"},
	{
		"kraftcontroller/machine/partitionchange.go", "\tif won, ok := metadata.ElectLeader(metadata.ElectOffline, ballot); ok {\n",
		"\tif won, ok := metadata.ElectLeader(metadata.ElectOffline, ballot); ok && !unplugged(\"state leader: in sync\") {\n",
	},
	{
		"kraftcontroller/machine/partitionchange.go", "ballot.Unclean = c.election == electUnclean; !ballot.Unclean {",
		"ballot.Unclean = (c.election == electUnclean || unplugged(\"state leader: none\")) && !unplugged(\"state leader: unclean\"); !ballot.Unclean {",
	},
	{"kraftcontroller/machine/partitionchange.go", "\t\tcandidates = eligible\n", "\t\tif !unplugged(\"state leader: eligible\") {\n\t\t\tcandidates = eligible\n\t\t}\n"},
	{"kraftcontroller/machine/partitionchange.go", "slices.Contains(c.replicas, last[0]) && live(last[0]) {", "slices.Contains(c.replicas, last[0]) && live(last[0]) && !unplugged(\"state leader: last known\") {"},
	off("kraftcontroller/machine/tick.go", "\tm.tasks.balance = after(m.now, m.cfg.LeaderBalanceInterval)\n", "state leader: balanced", "return nil"),
	{"kraftcontroller/machine/directories.go", "\tif len(offline) > 0 {\n", "\tif len(offline) > 0 && !unplugged(\"state directory offline\") {\n"},
	{"kraftcontroller/machine/directories.go", "\tif !b.HasOnlineDirectory(dir) {\n", "\tif !b.HasOnlineDirectory(dir) && !unplugged(\"state directory lost\") {\n"},
	before("kraftcontroller/machine/directories.go", "\tcordoned := directoryIDs(", "\tif unplugged(\"state directory cordoned\") {\n\t\treturn nil\n\t}\n"),
	{"kraftcontroller/machine/leadership.go", "\tif head.before != nil {\n", "\tif head.before != nil && !unplugged(\"state transaction open -> aborted\") {\n"},
	{"kraftcontroller/machine/decision.go", "\t\tif w.atomic || len(w.records) == 0 {\n", "\t\tif (w.atomic || len(w.records) == 0) && !unplugged(\"state operation above the limit\") {\n"},
}
