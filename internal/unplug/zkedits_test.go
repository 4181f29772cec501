package unplug

import (
	"fmt"

	"kbench/internal/sim/plant"
)

// zkEdits ask whether these points are off:
//
//	event machine.X   the machine never hears of it; a call is refused
//	event elect       nobody is elected
//	event expire      the end of a session is not noticed
//	request X         it is sent without content, and not served
//	state X -> Y      the transition is not legal, or is not made
//	error X           the check that gives it finds nothing wrong, see Plan.Codes
//	znode /path       what is written there is empty, or not written; what is
//	                  read from lists is nothing
var zkEdits = []plant.Edit{
	before(
		"zkcontroller/machine/machine.go", "\tif e, ok := in.(Elected); ok {\n",
		"\tif unplugged(fmt.Sprintf(\"event %T\", in)) {\n\t\tm.refuse(in)\n\t\treturn\n\t}\n",
	),
	before("zkcontroller/machine/machine.go", "\t\tm.resign()\n\tcase Abandon:", "\t\tif unplugged(\"event machine.Resign\") {\n\t\t\tbreak\n\t\t}\n"),
	off("zkcontroller/zk/election.go", "func (s *Session) Elect(ctx context.Context, id kafka.BrokerID, timestampMs int64) (Election, error) {\n", "event elect", "return Election{}, nil"),
	off("zkcontroller/zk/election.go", "func (s *Session) lostReply(ctx context.Context, id kafka.BrokerID, tried kafka.ControllerEpoch) (Election, error) {\n", "event elect", "return Election{}, nil"),
	off("zkcontroller/zk/session.go", "\tcase gozk.StateExpired:\n", "event expire", "return"),
	off("zkcontroller/controller.go", "\tcase zk.Expired:\n", "event expire", "return"),

	after("zkcontroller/machine/state.go", "func (s PartitionState) mayBecome(to PartitionState) bool {\n", "\tif unplugged(\"state partition \" + s.String() + \" -> \" + to.String()) {\n\t\treturn false\n\t}\n"),
	after("zkcontroller/machine/state.go", "func (s ReplicaState) mayBecome(to ReplicaState) bool {\n", "\tif unplugged(\"state replica \" + s.String() + \" -> \" + to.String()) {\n\t\treturn false\n\t}\n"),
	off("zkcontroller/machine/deletion.go", "func (m *Machine) finishDeletions(f *flow, ts []*topic) error {\n", "state replica DeletionSuccessful -> NonExistent", "return nil"),

	served,
	before(
		"zkcontroller/answers.go", "\treturn request{\n\t\tbuild: build,\n",
		"\tif unplugged(\"request LeaderAndIsr\") {\n\t\tbuild = func() kmsg.Request { return &kmsg.LeaderAndISRRequest{Version: leaderAndISRVersion} }\n\t}\n",
	),
	off(
		"zkcontroller/answers.go", "func (c *Controller) requestMetadata(e *machine.UpdateMetadata, body *metadataBody) request {\n", "request UpdateMetadata",
		"return request{build: func() kmsg.Request { return &kmsg.UpdateMetadataRequest{Version: updateMetadataVersion} }}",
	),
	off("zkcontroller/encode.go", "func (m *metadataBody) same(e *machine.UpdateMetadata) bool {\n", "request UpdateMetadata", "return false"),
	off(
		"zkcontroller/encode_stop_replica.go", "func (c *Controller) encodeStopReplica(e *machine.StopReplica, version int16) kmsg.Request {\n", "request StopReplica",
		"return &kmsg.StopReplicaRequest{Version: version}",
	),

	off("zkcontroller/zk/codec_misc.go", "func EncodeController(id kafka.BrokerID, timestampMs int64) []byte {\n", "znode /controller", "return nil"),
	off("zkcontroller/zk/codec_misc.go", "func EncodeControllerEpoch(e kafka.ControllerEpoch) []byte {\n", "znode /controller_epoch", "return nil"),
	off("zkcontroller/zk/register.go", "func (s *Session) RegisterBroker(ctx context.Context, reg BrokerRegistration) (kafka.BrokerEpoch, error) {\n", "znode /brokers/ids/<id>", "return 0, nil"),
	off("zkcontroller/zk/codec_topic.go", "func EncodeTopic(t TopicAssignment) []byte {\n", "znode /brokers/topics/<t>", "return nil"),
	off("zkcontroller/zk/codec_state.go", "func EncodeState(s PartitionState) []byte {\n", "znode /brokers/topics/<t>/partitions/<p>/state", "return nil"),
	off("zkcontroller/zk/codec_misc.go", "func EncodeConfig(config map[string]string) []byte {\n", "znode /config/<type>/<entity>", "return nil"),
	off("zkcontroller/zk/codec_misc.go", "func EncodeConfigChange(entityPath string) []byte {\n", "znode /config/changes", "return nil"),
	off("zkcontroller/zk/codec_notes.go", "func EncodeLogDirEvent(id kafka.BrokerID) []byte {\n", "znode /log_dir_event_notification", "return nil"),
	off("zkcontroller/zk/codec_misc.go", "func EncodeClusterID(id kafka.UUID) []byte {\n", "znode /cluster/id", "return nil"),
	off("zkcontroller/zk/codec_misc.go", "func EncodeProducerIDBlock(b ProducerIDBlock) []byte {\n", "znode /latest_producer_id_block", "return nil"),
	off("zkcontroller/zk/codec_feature.go", "func EncodeFeature(f Feature) []byte {\n", "znode /feature", "return nil"),
	off("zkcontroller/zk/codec_acl.go", "\tif p == access.Prefixed {\n", "znode /kafka-acl-extended", "return \"/nowhere\""),
	before("zkcontroller/zk/codec_acl.go", "\treturn aclRoot\n", "\tif unplugged(\"znode /kafka-acl\") {\n\t\treturn \"/nowhere\"\n\t}\n"),
	off("zkcontroller/zk/codec_acl.go", "\tif r.Pattern == access.Prefixed {\n", "znode /kafka-acl-extended-changes", "return PrefixChangesPath, nil"),
	before("zkcontroller/zk/codec_acl.go", "\treturn ACLChangesPath + ", "\tif unplugged(\"znode /kafka-acl-changes\") {\n\t\treturn ACLChangesPath, nil\n\t}\n"),
	off("zkcontroller/zk/codec_token.go", "func EncodeToken(t Token) []byte {\n", "znode /delegation_token/tokens", "return nil"),
	off("zkcontroller/zk/access.go", "func (s *Session) tellToken(ctx context.Context, id string) error {\n", "znode /delegation_token/token_changes", "return nil"),
	after("zkcontroller/machine/machine.go", "func (f *flow) do(b Batch) error {\n", `	path := map[string]string{
		"*machine.ReadDeletions": "/admin/delete_topics/<t>",
		"*machine.ReadReassign":  "/admin/reassign_partitions",
		"*machine.ReadPreferred": "/admin/preferred_replica_election",
		"*machine.ReadNotes":     "/isr_change_notification",
	}[fmt.Sprintf("%T", b)]
	if n, ok := b.(*ReadNotes); ok && n.Queue == LogDirNotes {
		path = "/log_dir_event_notification"
	}
	if path != "" && unplugged("znode "+path) {
		return nil
	}
	if _, ok := b.(*WriteAssignments); ok && unplugged("znode /brokers/topics/<t>") {
		return errors.New("unplugged")
	}
`),
	off("broker/zk_isr.go", "func (p *zkPlane) tellISR(ctx context.Context, s *zk.Session, now time.Time) {\n", "znode /isr_change_notification", "return"),
	off("broker/zk_notifications.go", "func (n *notifications) purge(ctx context.Context, s *zk.Session, names []string, nowMs int64) {\n", "znode /delegation_token/token_changes", "return"),
	before("zkcontroller/store_states.go", "\t\t\ts.unreadable(statePath", "\t\t\tif unplugged(\"znode /brokers/topics/<t>/partitions/<p>/state\") {\n\t\t\t\treturn err\n\t\t\t}\n"),
}

// served lets a server not know a request.
var served = plant.Edit{
	"kafka/wire/serverconn.go", "\tif !ok {\n\t\treturn out, fmt.Errorf(\"request key",
	"\tif !ok || unplugged(\"request \"+kmsg.NameForKey(h.key)) {\n\t\treturn out, fmt.Errorf(\"request key",
}

func before(file, line, insert string) plant.Edit { return plant.Edit{file, line, insert + line} }

func after(file, line, insert string) plant.Edit { return plant.Edit{file, line, line + insert} }

// off leaves by a statement after a line where a point is off.
func off(file, line, point, statement string) plant.Edit {
	return after(file, line, fmt.Sprintf("\tif unplugged(%q) {\n\t\t%s\n\t}\n", point, statement))
}
