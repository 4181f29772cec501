package wire

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bytes are those of Kafka 3.9.2's StopReplicaRequestData, version 4:
// controller id, isKRaftController, controller epoch, broker epoch.
func TestStopReplica4HasKafkasOrder(t *testing.T) {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.IsKRaftController, req.BrokerEpoch = 4, 3, 9, false, 8
	topic := kmsg.NewStopReplicaRequestTopic()
	topic.Topic = "a"
	topic.PartitionStates = []kmsg.StopReplicaRequestTopicPartitionState{{Partition: 300, LeaderEpoch: -2, Delete: true}}
	req.Topics = append(req.Topics, topic)
	for _, kraft := range []bool{false, true} {
		req.IsKRaftController = kraft
		flag := "00"
		if kraft {
			flag = "01"
		}
		want := "00000003" + flag + "00000009" + "0000000000000008" + "02" + "0261" + "02" + "0000012c" + "fffffffe" + "01" + "00" + "00" + "00"
		body := appendBody(nil, req)
		if got := hex.EncodeToString(body); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		frame := append([]byte{0}, body...) // an empty tag section of the header
		again, err := decodeBody(requestHeader{key: 5, version: 4}, frame)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, req) {
			t.Errorf("got  %+v\nwant %+v", again, req)
		}
	}
	if _, err := decodeBody(requestHeader{key: 5, version: 4}, []byte{0, 1, 2}); err == nil {
		t.Error("a body of two bytes decodes")
	}
}
