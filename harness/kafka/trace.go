package kafka

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"kbench/internal/trace"
)

// line is one event that Kafka's log tells: a class, the text of its line with
// the epoch or the brokers as groups, and what it means.
type line struct {
	class string
	text  *regexp.Regexp
	kind  trace.Kind
}

// lines are looked at in this order; the first that fits counts. What is not
// among them is not told: nothing is inferred.
var lines = []line{
	// ZooKeeper mode. That /controller is gone is not logged. The state is there
	// when the first UpdateMetadata is sent.
	{"KafkaController", regexp.MustCompile(` successfully elected as the controller\. Epoch incremented to (\d+) `), trace.ControllerElected},
	{"KafkaController", regexp.MustCompile(`Sending update metadata request$`), trace.ControllerLoaded},
	{"KafkaController", regexp.MustCompile(`Ready to serve as the new controller with epoch (\d+)$`), trace.ControllerActive},
	{"KafkaController", regexp.MustCompile(`Newly added brokers: .*, deleted brokers: ([0-9,]+), bounced brokers: `), trace.BrokerFenced},
	// KRaft. A follower whose fetch timeout fired becomes prospective, before
	// Kafka 4.0 a candidate at once.
	{"QuorumState", regexp.MustCompile(`Completed transition to (?:ProspectiveState|CandidateState)\(.*?\bepoch=(\d+)`), trace.ControllerDetected},
	{"QuorumState", regexp.MustCompile(`Completed transition to Leader\(.*?\bepoch=(\d+)`), trace.ControllerElected},
	{"QuorumController", regexp.MustCompile(`Becoming the active controller at epoch (\d+), `), trace.ControllerLoaded},
	{"QuorumController", regexp.MustCompile(`Performing controller activation`), trace.ControllerActive},
	// Brokers. One follows a controller from its first UpdateMetadata on, or
	// from the first fetch of the metadata log that the leader answers.
	{"logger", regexp.MustCompile(`metadata cache in response to UpdateMetadata request sent by controller \d+ epoch (\d+) `), trace.BrokerControllerEpoch},
	{"QuorumState", regexp.MustCompile(`Completed transition to FollowerState\(.*?\bepoch=(\d+)`), trace.BrokerControllerEpoch},
	{"KafkaServer", regexp.MustCompile(`Controlled shutdown request returned successfully`), trace.ShutdownGranted},
	{"BrokerLifecycleManager", regexp.MustCompile(`The controller has asked us to exit controlled shutdown`), trace.ShutdownGranted},
	{"ReplicationControlManager", regexp.MustCompile(`Fencing broker (\d+) at epoch \d+ because its session has timed out`), trace.BrokerFenced},
}

// WriteTrace reads Kafka's log and writes what it tells as a trace of the node.
// Where the log's lines have the time of day alone, offset turns it into
// CLOCK_MONOTONIC; such stamps are true to a millisecond. A line that ends in
// the middle, since the node was killed, is left out.
func WriteTrace(w io.Writer, node string, log io.Reader, offset time.Duration) error {
	enc := json.NewEncoder(w)
	epoch, followed := int64(0), int64(-1)
	broker := brokerOf(node)
	r := bufio.NewReader(log)
	for {
		text, err := r.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the log of %s: %w", node, err)
		}
		for _, e := range parse(strings.TrimRight(text, "\r\n"), offset) {
			switch {
			case e.Kind == trace.BrokerControllerEpoch || e.Kind == trace.ShutdownGranted:
				if broker == 0 || e.Kind == trace.BrokerControllerEpoch && e.Epoch <= followed {
					continue // a controller, or an epoch that was told
				}
				e.Broker, followed = broker, max(followed, e.Epoch)
			case e.Kind == trace.ControllerElected:
				epoch = e.Epoch
			case e.Epoch == 0 && e.Broker == 0:
				e.Epoch = epoch // of the election that the line belongs to
			}
			e.Node = node
			if err := enc.Encode(e); err != nil {
				return err
			}
		}
	}
}

// brokerOf is the id of the broker that a node is, 0 for a controller.
func brokerOf(node string) int32 {
	id, _ := strings.CutPrefix(node, "broker-")
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// parse gives what a line tells: "TIME NANOS LEVEL CLASS TEXT".
func parse(text string, offset time.Duration) []trace.Event {
	words := strings.SplitN(text, " ", 5)
	if len(words) < 5 {
		return nil
	}
	for _, l := range lines {
		if words[3] != l.class {
			continue
		}
		m := l.text.FindStringSubmatch(words[4])
		if m == nil {
			continue
		}
		at, ok := stamp(words[0], words[1], offset)
		if !ok {
			return nil
		}
		if l.kind != trace.BrokerFenced {
			e := trace.Event{T: at, Kind: l.kind}
			if len(m) > 1 {
				e.Epoch, _ = strconv.ParseInt(m[1], 10, 64)
			}
			return []trace.Event{e}
		}
		var out []trace.Event
		for id := range strings.SplitSeq(m[1], ",") {
			if n, err := strconv.ParseInt(id, 10, 32); err == nil {
				out = append(out, trace.Event{T: at, Kind: l.kind, Broker: int32(n)})
			}
		}
		return out
	}
	return nil
}

// stamp gives CLOCK_MONOTONIC from the nanoseconds where the line has them,
// else from the time of day.
func stamp(day, nanos string, offset time.Duration) (int64, bool) {
	if ns, err := strconv.ParseInt(nanos, 10, 64); err == nil {
		return ns, true
	}
	t, err := time.Parse("2006-01-02T15:04:05.000Z07:00", day)
	if err != nil {
		return 0, false
	}
	return t.UnixNano() + int64(offset), true
}

// WallToMonotonic is what turns the time of day into CLOCK_MONOTONIC now. A
// clock that was set since a line was written makes that line's stamp wrong.
func WallToMonotonic() time.Duration {
	before := trace.Now()
	wall := time.Now().UnixNano()
	after := trace.Now()
	return time.Duration((before+after)/2 - wall)
}
