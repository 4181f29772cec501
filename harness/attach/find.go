package attach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ask"
	"kbench/kafka/wire"
)

// Access is how a cluster is reached.
type Access struct {
	Bootstrap []string // host:port of brokers; one that answers is enough
	// As is how clients show themselves, nil: plain; CommandConfig is the file that
	// says so, for messages.
	As            *wire.Identity
	CommandConfig string
}

// Found is a cluster as its brokers tell of it.
type Found struct {
	ClusterID string   // as the brokers name it, may be ""
	KRaft     bool     // it has a quorum; else its metadata is in ZooKeeper
	Brokers   []Broker // by id
	Voters    []kafka.BrokerID
}

// Broker is one broker at the address that it advertises.
type Broker struct {
	ID   kafka.BrokerID
	Addr string // host:port
}

// askTimeout bounds one question to one broker.
const askTimeout = 10 * time.Second

const (
	apiDescribeQuorum = 55
	metadataVersion   = 9 // Kafka 2.4 and later
)

// Find asks the brokers, one after the other, for the cluster. The error tells
// what each answered.
func (a Access) Find(ctx context.Context) (Found, error) {
	var errs []error
	for _, addr := range a.Bootstrap {
		f, err := a.findAt(ctx, addr)
		if err == nil {
			return f, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
	}
	return Found{}, fmt.Errorf("no broker answers: %w", errors.Join(errs...))
}

// Refused reports whether an error is one that the next try has too: a login that
// failed, or a certificate that is not trusted.
func Refused(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || errors.Is(err, kafka.SaslAuthenticationFailed) || errors.Is(err, kafka.UnsupportedSaslMechanism)
}

// findAt bounds the questions to one broker. One that says nothing is said to.
func (a Access) findAt(ctx context.Context, addr string) (Found, error) {
	silence := fmt.Errorf("no answer within %v", askTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, silence)
	defer cancel()
	f, err := a.askFor(ctx, addr)
	if err != nil && errors.Is(context.Cause(ctx), silence) {
		return Found{}, silence
	}
	return f, err
}

// askFor asks one broker for the cluster.
func (a Access) askFor(ctx context.Context, addr string) (Found, error) {
	conn, err := a.dial(ctx, addr)
	if err != nil {
		return Found{}, err
	}
	defer conn.Close()
	versions, err := conn.APIVersions(ctx)
	if err != nil {
		return Found{}, err
	}
	m, err := metadata(ctx, conn, []string{})
	if err != nil {
		return Found{}, err
	}
	f := Found{}
	if m.ClusterID != nil {
		f.ClusterID = *m.ClusterID
	}
	for _, b := range m.Brokers {
		f.Brokers = append(f.Brokers, Broker{kafka.BrokerID(b.NodeID), kafka.Endpoint{Host: b.Host, Port: uint16(b.Port)}.Addr()})
	}
	slices.SortFunc(f.Brokers, func(a, b Broker) int { return int(a.ID) - int(b.ID) })
	if len(f.Brokers) == 0 {
		return Found{}, errors.New("it names no broker")
	}
	if _, err := versions.Pick(apiDescribeQuorum, 0, 0); err == nil {
		f.KRaft = true
		f.Voters, err = votersAt(ctx, conn)
		return f, err
	}
	return f, nil
}

// votersAt asks a broker for the voters of the quorum.
func votersAt(ctx context.Context, conn *wire.Conn) ([]kafka.BrokerID, error) {
	resp, err := conn.Request(ctx, ask.DescribeQuorum())
	if err != nil {
		return nil, fmt.Errorf("ask for the quorum: %w", err)
	}
	p, err := ask.Quorum(resp.(*kmsg.DescribeQuorumResponse))
	if err != nil {
		return nil, fmt.Errorf("ask for the quorum: %w", err)
	}
	var out []kafka.BrokerID
	for _, v := range p.CurrentVoters {
		out = append(out, kafka.BrokerID(v.ReplicaID))
	}
	slices.Sort(out)
	return out, nil
}

func (a Access) dial(ctx context.Context, addr string) (*wire.Conn, error) {
	return wire.Dial(ctx, addr, wire.DialOptions{ClientID: "kbench-attach"}.As(a.As))
}

// metadata asks for topics; nil asks for all.
func metadata(ctx context.Context, conn *wire.Conn, topics []string) (*kmsg.MetadataResponse, error) {
	req := ask.Everything()
	if topics != nil {
		req = ask.Topics(topics)
	}
	req.SetVersion(metadataVersion)
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("ask for metadata: %w", err)
	}
	return resp.(*kmsg.MetadataResponse), nil
}
