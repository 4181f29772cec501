package interop

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// nodeLog is the log of one node, read as it grows.
type nodeLog struct {
	node, file string
	real       bool  // of Apache Kafka, otherwise of kbench
	read       int64 // bytes
	last       time.Time
	left       map[string]bool // connections that the node says it closed itself
}

func newNodeLog(node, file string, real bool) *nodeLog {
	return &nodeLog{node: node, file: file, real: real, left: map[string]bool{}}
}

// bad tells the lines of what has been written since the last look that no
// fault explains.
func (l *nodeLog) bad(f *faults) ([]string, error) {
	file, err := os.Open(l.file)
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", l.node, err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	whole := judgeable(string(text))
	l.read += int64(len(whole))
	var out []string
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	for i, line := range lines {
		if at, ok := l.time(line); ok {
			l.last = at
		}
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if own := l.own(line); l.tells(line) && (never.MatchString(line) || !own && !early(line, next) && !f.cover(l.last, line, next)) {
			out = append(out, l.node+": "+line)
		}
		if c := connection(ownClose, line); c != "" {
			l.left[c] = true
		}
	}
	return out, nil
}

// judgeable cuts off what may still grow: half a line, and one that the next one
// explains.
func judgeable(text string) string {
	whole := text[:strings.LastIndexByte(text, '\n')+1]
	last := strings.LastIndexByte(strings.TrimSuffix(whole, "\n"), '\n') + 1
	if unexpected.MatchString(whole[last:]) {
		return whole[:last]
	}
	return whole
}

// time is the stamp of a line; lines without one belong to the line before.
func (l *nodeLog) time(line string) (time.Time, bool) {
	if !l.real {
		line = strings.TrimPrefix(line, "time=")
	}
	stamp, _, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return at, err == nil
}

var (
	// What a real broker must not say. The clients inside of it tell of their
	// connections at INFO, the ends of ordinary ones at DEBUG.
	realError  = regexp.MustCompile(`^\S+ (ERROR|FATAL) `)
	realClosed = regexp.MustCompile(`(?i)\bdisconnected\b|closing socket|closed socket|EOFException|could not be established|in-flight .* due to|connection (to|with|from) .*(closed|reset|lost|refused|timed out)|Disconnecting from node`)
	ourError   = regexp.MustCompile(`^time=\S+ level=ERROR `)
)

func (l *nodeLog) tells(line string) bool {
	switch {
	case never.MatchString(line):
		return true
	case !l.real:
		return ourError.MatchString(line)
	}
	return realError.MatchString(line) && !slow.MatchString(line) || realClosed.MatchString(line)
}

// A follower that has nothing left to fetch from a leader closes its connection
// while a fetch waits there. It says so before it tells that the fetch was
// cancelled; lines of other threads may come between. That is no fault of either
// side, so it is forgiven, once for each close.
var (
	ownClose  = regexp.MustCompile(`NetworkClient (\[ReplicaFetcher .*\]) Client requested connection close from node (\d+)$`)
	cancelled = regexp.MustCompile(`NetworkClient (\[ReplicaFetcher .*\]) Cancelled in-flight FETCH request .* due to node (\d+) being disconnected`)
)

// own reports whether a line follows from the node's own close of a connection.
func (l *nodeLog) own(line string) bool {
	c := connection(cancelled, line)
	own := l.left[c]
	delete(l.left, c)
	return own
}

func connection(kind *regexp.Regexp, line string) string {
	m := kind.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

const (
	within = "2026-01-02T03:04:05.500Z " // the first fault of TestLogsAreJudged
	after  = "2026-01-02T03:04:07.000Z "

	fetcherClosed  = "2026-01-02T03:04:07.000Z INFO NetworkClient [ReplicaFetcher replicaId=2, leaderId=11, fetcherId=0] Client requested connection close from node 11"
	fetchCancelled = "2026-01-02T03:04:07.000Z INFO NetworkClient [ReplicaFetcher replicaId=2, leaderId=11, fetcherId=0] Cancelled in-flight FETCH request with correlation id 0 due to node 11 being disconnected (elapsed time since creation: 1ms)"
)

// refused is what a real controller says of a request that ended in an exception.
func refused(key string) string {
	return "ERROR ControllerApis [ControllerApis nodeId=2001] Unexpected error handling request RequestHeader(apiKey=" + key + ", apiVersion=1) -- Data(brokerId=11)"
}

// Each kind of line is found, at its own time alone.
func TestLogsAreJudged(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := &faults{spans: []span{
		{what: "one second", explains: ofNodesAway, from: at, to: at.Add(time.Second)},
		{what: "growth", explains: alone(growth), from: at.Add(time.Minute), to: at.Add(2 * time.Minute)},
		{what: "away", explains: alone(connectionTo(1001, 1002)), from: at.Add(time.Minute), to: at.Add(2 * time.Minute)},
	}}
	for _, c := range []struct {
		real bool
		line string
		bad  bool
	}{
		{true, "2026-01-02T03:04:04.999Z ERROR logger [Broker id=1] Received LeaderAndIsrRequest with an old epoch", true},
		{true, "2026-01-02T03:04:04.999Z INFO NetworkClient [x] Node 3 disconnected.", true},
		{true, within + "INFO NetworkClient [x] Node 3 disconnected.", false},
		{true, "2026-01-02T03:04:06.000Z INFO NetworkClient [x] Node 3 disconnected.", false},
		{true, "2026-01-02T03:04:06.001Z INFO NetworkClient [x] Node 3 disconnected.", true},
		{true, within + "ERROR logger within the fault", true},
		{true, within + "ERROR KafkaRaftClient [RaftManager id=1] Node 3 disconnected with an unexpected error", true},
		{true, within + "INFO NetworkClient [x] Node 3 disconnected.\norg.apache.kafka.common.errors.UnsupportedVersionException: none", true},
		{true, within + "WARN NodeToControllerRequestThread Error code UNSUPPORTED_VERSION", true},
		{true, within + "WARN RaftManager Node 3 disconnected: unsupported version", true},
		{true, within + "FATAL KafkaServer out of order", true},
		{true, within + "INFO x y\nException in thread \"kafka-1001-raft-io-thread\" java.lang.IllegalStateException", true},
		{true, within + "INFO x y\njava.lang.OutOfMemoryError: Java heap space", true},
		{true, within + "ERROR ProcessTerminatingFaultHandler Encountered fatal fault: Unexpected error in raft IO thread", true},
		{true, within + "INFO LoggingFaultHandler Encountered metadata loading fault: none", true},
		{true, within + refused("CREATE_TOPICS") + "\norg.apache.kafka.common.errors.NotControllerException: none", false},
		{true, within + refused("CREATE_TOPICS") + "\norg.apache.kafka.common.errors.TimeoutException: none", false},
		{true, within + refused("CREATE_TOPICS") + "\njava.lang.NullPointerException: none", true},
		{true, after + refused("CREATE_TOPICS") + "\norg.apache.kafka.common.errors.NotControllerException: none", true},
		{true, after + refused("BROKER_HEARTBEAT") + "\norg.apache.kafka.common.errors.TimeoutException: none", true},
		{true, "2026-01-02T03:04:07.000Z INFO NetworkClient [Controller id=1] Node 1001 disconnected.", true},
		{true, "2026-01-02T03:04:07.000Z WARN NetworkClient Connection to node 2 (localhost/127.0.0.1:9) could not be established. Node may not be available.", true},
		{true, "2026-01-02T03:04:07.000Z INFO NetworkClient Cancelled in-flight FETCH request with correlation id 5 due to node 2 being disconnected", true},
		{true, fetcherClosed + "\n" + fetchCancelled, false},
		{true, fetcherClosed + "\n" + strings.ReplaceAll(fetchCancelled, "node 11", "node 3"), true},
		{true, fetcherClosed + "\n2026-01-02T03:04:07.000Z INFO x y\n" + fetchCancelled, false},
		{true, fetcherClosed + "\n" + fetchCancelled + "\n" + fetchCancelled, true},
		{true, fetchCancelled + "\n" + fetcherClosed, true},
		{true, "2026-01-02T03:04:07.000Z WARN NodeToControllerRequestThread Error code UNSUPPORTED_VERSION", true},
		{true, "2026-01-02T03:04:07.000Z INFO Log4jControllerRegistration$ Registered", false},
		{true, "2026-01-02T03:04:07.000Z WARN ReplicaFetcherThread no error", false},
		{true, "2026-01-02T03:05:05.000Z ERROR logger [Broker id=1] Expected partition grown-4 with topic id 32eQhT3CQm6gE_uWXTiGcA to exist, but it was missing. Creating...", false},
		{true, "2026-01-02T03:05:05.000Z ERROR logger [Broker id=1] Another", true},
		{true, "2026-01-02T03:05:05.000Z INFO NetworkClient [NodeToControllerChannelManager id=2 name=alter-partition] Node 1002 disconnected.", false},
		{true, "2026-01-02T03:05:05.000Z WARN NetworkClient [x] Connection to node 1002 (/127.0.0.1:9) could not be established. Node may not be available.", false},
		{true, "2026-01-02T03:05:05.000Z INFO NetworkClient [x] Node 1003 disconnected.", true},
		{true, "2026-01-02T03:05:05.000Z INFO NetworkClient [x] Node 10021 disconnected.", true},
		{true, after + refused("BROKER_HEARTBEAT") + "\norg.apache.kafka.common.errors.NotControllerException: The active controller appears to be node 2001.", false},
		{true, after + refused("BROKER_HEARTBEAT") + "\norg.apache.kafka.common.errors.UnknownServerException", true},
		{true, "2026-01-02T03:04:07.000Z ERROR EventPerformanceMonitor [QuorumController id=2001] Exceptionally slow controller event writeNoOpRecord(1651304131) took 8901 ms.", false},
		{false, "time=2026-01-02T03:04:04.999Z level=ERROR msg=x", true},
		{false, "time=2026-01-02T03:04:05.999Z level=ERROR msg=x", true},
		{false, "time=2026-01-02T03:04:05.999Z level=WARN msg=\"voter cannot be reached\" err=\"read: EOF\"", false},
		{false, "time=2026-01-02T03:04:05.999Z level=WARN msg=x err=UNSUPPORTED_VERSION", true},
		{false, "time=2026-01-02T03:04:04.999Z level=INFO msg=x", false},
		{false, "panic: x", true},
	} {
		file := t.TempDir() + "/log"
		if err := os.WriteFile(file, []byte(c.line+"\n2026-01-02T03:04:04.000Z ERROR half a li"), 0o644); err != nil {
			t.Fatal(err)
		}
		l := newNodeLog("n", file, c.real)
		bad, err := l.bad(f)
		if err != nil || (len(bad) == 1) != c.bad || len(bad) > 1 {
			t.Errorf("%s: %q, %v", c.line, bad, err)
		}
		if bad, err = l.bad(f); err != nil || len(bad) != 0 {
			t.Errorf("%s: a second look: %q, %v", c.line, bad, err)
		}
	}
}
