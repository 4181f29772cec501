package interop

import (
	"regexp"
	"time"
)

// faults are the spans in which a story breaks something on purpose.
type faults struct{ spans []span }

type span struct {
	what     string
	explains func(line, next string) bool
	from, to time.Time // to is zero while it lasts
}

// begin opens a span in which nodes go, stand still or come; the function that it
// gives closes it once the cluster has recovered.
func (f *faults) begin(what string) (end func()) { return f.open(what, ofNodesAway) }

// beginOnly opens a span that explains some lines alone.
func (f *faults) beginOnly(what string, only *regexp.Regexp) (end func()) {
	return f.open(what, alone(only))
}

func alone(only *regexp.Regexp) func(line, next string) bool {
	return func(line, _ string) bool { return only.MatchString(line) }
}

func (f *faults) open(what string, explains func(line, next string) bool) (end func()) {
	f.spans = append(f.spans, span{what: what, explains: explains, from: time.Now().Truncate(time.Millisecond)})
	i := len(f.spans) - 1
	return func() { f.spans[i].to = time.Now() }
}

// cover reports whether a span explains a line, which the next one may help to.
func (f *faults) cover(at time.Time, line, next string) bool {
	for _, s := range f.spans {
		if !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to)) && s.explains(line, next) {
			return true
		}
	}
	return false
}

// ofNodesAway are the lines that follow from a node that is away or comes back:
// of lost connections, and of requests that reach a controller which does not
// lead yet, or not any more, or which has stood still. Whatever else a node says
// at ERROR it must not say then either.
func ofNodesAway(line, next string) bool {
	return realClosed.MatchString(line) && !realError.MatchString(line) || unexpected.MatchString(line) && (notActive.MatchString(next) || timedOut.MatchString(next))
}

// never are the lines that nothing explains, whenever they are written: of a
// message that the other side does not understand, of an exception that nobody
// caught, and of what Kafka's fault handlers take for a defect.
var never = regexp.MustCompile(`UNSUPPORTED_VERSION|UnsupportedVersion|(?i:unsupported version)|^\S+ FATAL |^Exception in thread |^panic: |^fatal error: |` +
	`OutOfMemoryError|StackOverflowError|FaultHandler|Encountered (?:non-)?fatal |Uncaught |(?i:uncaught exception)`)

// growth is what brokers of KRaft mode say at ERROR of each replica that they get
// of a topic that was there before, whoever is the controller: ReplicaManager
// takes it for missing.
var growth = regexp.MustCompile(`ERROR logger \[Broker id=\d+\] Expected partition \S+ with topic id \S+ to exist, but it was missing\. Creating\.\.\.$`)

// ofLostDir are the lines at ERROR that follow from a log directory of a real
// broker which is gone: the broker cannot write its high watermarks there, and
// followers are told so by the leaders in it until they have another.
func ofLostDir(dir string) func(line, next string) bool {
	written := regexp.MustCompile(`ERROR LogDirFailureChannel Error while writing to checkpoint file ` + regexp.QuoteMeta(dir) + `/replication-offset-checkpoint$|` +
		`ERROR ReplicaManager \[ReplicaManager broker=\d+\] Error while writing to highwatermark file in directory ` + regexp.QuoteMeta(dir) + `$`)
	fetched := regexp.MustCompile(`ERROR ReplicaFetcherThread \[ReplicaFetcher .*\] Error for partition \S+ at offset \d+$`)
	told := regexp.MustCompile(`^org\.apache\.kafka\.common\.errors\.KafkaStorageException: `)
	return func(line, next string) bool {
		return written.MatchString(line) || fetched.MatchString(line) && told.MatchString(next)
	}
}

// slow is what a real controller says at ERROR of events that took or waited for
// seconds, which the machine makes them do when it stands still. What a quorum
// does not do in time fails the story itself.
var slow = regexp.MustCompile(`ERROR EventPerformanceMonitor \[QuorumController id=\d+\] Exceptionally slow controller event |` +
	`ERROR ReplicationControlManager \[QuorumController id=\d+\] processExpiredBrokerHeartbeat: controller event queue overloaded\.`)

// A real controller that has won an election answers NOT_CONTROLLER until it is
// active, and tells so at ERROR, with the exception on the next line. Brokers may
// well ask that early. One that lost its place, or stood still, does the same with
// any request while a fault lasts.
var (
	unexpected = regexp.MustCompile(`ERROR ControllerApis \[ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=`)
	soon       = regexp.MustCompile(`RequestHeader\(apiKey=(BROKER_HEARTBEAT|CONTROLLER_REGISTRATION), `)
	notActive  = regexp.MustCompile(`^(java\.util\.concurrent\.CompletionException: )?org\.apache\.kafka\.common\.errors\.NotControllerException: `)
	timedOut   = regexp.MustCompile(`^(java\.util\.concurrent\.CompletionException: )?org\.apache\.kafka\.common\.errors\.TimeoutException: `)
)

// early reports whether a line, with the next one, tells of a broker that asks a
// controller before it is active.
func early(line, next string) bool {
	return unexpected.MatchString(line) && soon.MatchString(line) && notActive.MatchString(next)
}
