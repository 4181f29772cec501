package zk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"kbench/kafka"
)

// EncodeLogDirEvent gives the data of a /log_dir_event_notification node: a log
// directory of the broker failed.
func EncodeLogDirEvent(id kafka.BrokerID) []byte {
	return fmt.Appendf(nil, `{"version":1,"broker":%d,"event":1}`, id)
}

// DecodeLogDirEvent gives the broker of such a node.
func DecodeLogDirEvent(data []byte) (kafka.BrokerID, error) {
	var j struct {
		Broker *kafka.BrokerID `json:"broker"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return 0, fmt.Errorf("log directory event %.80q: %w", data, err)
	}
	if j.Broker == nil {
		return 0, fmt.Errorf("log directory event %.80q names no broker", data)
	}
	return *j.Broker, nil
}

// SequenceOf gives the number that ZooKeeper appended to the name of a
// sequential znode, and whether it has one.
func SequenceOf(name string) (int64, bool) {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '_')+1:], 10, 64)
	return n, err == nil && n >= 0
}
