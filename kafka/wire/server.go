package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds that hold where a ServerConfig leaves its field zero.
const (
	// DefaultMaxConnections bounds the open connections of a server.
	DefaultMaxConnections = 10_000
	// DefaultMaxRequestBytes is Kafka's socket.request.max.bytes.
	DefaultMaxRequestBytes = 100 << 20
	// DefaultIdleTimeout is Kafka's connections.max.idle.ms.
	DefaultIdleTimeout = 10 * time.Minute
	// maxQueuedRequests bounds the requests of one connection that are read
	// but not yet answered. One is enough to see a client leave while its
	// request waits; a few more keep a pipelining client's next ones at hand.
	maxQueuedRequests = 8
	// writeTimeout bounds how long a client may leave its answers unread.
	writeTimeout = 30 * time.Second
)

// Request is one decoded request. It belongs to its handler until the handler
// returns; []byte fields of Body alias the request's own buffer, which is
// never reused, so that they may be kept.
type Request struct {
	Key, Version  int16
	CorrelationID int32
	ClientID      string   // "" where the client sent null
	Remote        net.Addr // the client's address
	Listener      string   // ServerConfig.Listener
	Principal     string   // who the client is; User:ANONYMOUS without authentication
	ByToken       bool     // the client logged in with a delegation token
	Body          kmsg.Request
}

// Handler answers one request. The server sets the version of the response. A
// nil response without an error sends nothing (Produce with acks=0); an error
// is logged and closes the connection, so protocol failures belong into the
// response as error codes. A Handler runs on its connection's goroutine and
// may block: the requests behind it wait, as in Kafka; see Park for those of
// other connections. ctx ends when the client leaves or the server closes; a
// handler must return soon after.
type Handler func(ctx context.Context, r *Request) (kmsg.Response, error)

// API is one request kind a server answers, at versions MinVersion to
// MaxVersion inclusive; kmsg must know both.
type API struct {
	Key, MinVersion, MaxVersion int16
	Handle                      Handler
}

// ServerConfig configures a server. Zero values of the bounds take the
// defaults above; none of them may be negative.
type ServerConfig struct {
	APIs            []API         // each key once, and not ApiVersions (18), nor with SASL 17 and 36: the server answers them
	Listener        string        // name handed to handlers, for example PLAINTEXT
	MaxConnections  int           // further clients are closed at once
	MaxRequestBytes int           // a larger frame closes its connection before it is read
	IdleTimeout     time.Duration // a connection without a request for so long is closed
	Logger          *slog.Logger  // nil: slog.Default
	// Features completes an answer to ApiVersions, for example with
	// finalized features; nil adds nothing. It is called on connections'
	// goroutines.
	Features func(*kmsg.ApiVersionsResponse)
	// TLS encrypts every connection; nil leaves them plain. A verified client
	// certificate makes its subject the principal (RFC 2253 order), unless
	// SASL names one.
	TLS *tls.Config
	// SASL makes clients authenticate first; nil asks nothing of them.
	SASL *SASL
	// Requests bounds how many requests are handled at a time, and makes the
	// others wait their turn, over all servers that share it; nil: each connection
	// has a handler of its own.
	Requests *RequestChannel
	// NetworkThreads is over how many threads the connections are spread where
	// there are Requests: one that waits for room in the queue stops those of all its
	// connections.
	NetworkThreads int
}

// Server serves the APIs of its configuration on any number of listeners.
type Server struct {
	cfg      ServerConfig
	log      *slog.Logger
	apis     map[int16]API
	versions []kmsg.ApiVersionsResponseApiKey // sorted by key

	ctx    context.Context // ends when Close begins
	cancel context.CancelFunc

	threads []networkThread
	accepts atomic.Uint32 // connections so far, which the threads get in turn

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*serverConn]struct{}
	wg        sync.WaitGroup // accept loops and connections
}

// NewServer checks the configuration and makes a server that listens nowhere
// yet.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.MaxConnections < 0 || cfg.MaxRequestBytes < 0 || cfg.IdleTimeout < 0 || cfg.NetworkThreads < 0 {
		return nil, fmt.Errorf("wire server %s: MaxConnections, MaxRequestBytes, IdleTimeout and NetworkThreads must not be negative", cfg.Listener)
	}
	cfg.MaxConnections = orDefault(cfg.MaxConnections, DefaultMaxConnections)
	cfg.MaxRequestBytes = orDefault(cfg.MaxRequestBytes, DefaultMaxRequestBytes)
	cfg.IdleTimeout = orDefault(cfg.IdleTimeout, DefaultIdleTimeout)
	cfg.NetworkThreads = orDefault(cfg.NetworkThreads, DefaultNetworkThreads)
	apis, versions, err := indexAPIs(cfg.APIs)
	if err == nil && cfg.SASL != nil {
		err = cfg.SASL.check()
		versions = listSASL(versions)
	}
	if err != nil {
		return nil, fmt.Errorf("wire server %s: %w", cfg.Listener, err)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	s := &Server{
		cfg: cfg, log: log.With("listener", cfg.Listener), apis: apis, versions: versions,
		listeners: map[net.Listener]struct{}{}, conns: map[*serverConn]struct{}{},
		threads: make([]networkThread, cfg.NetworkThreads),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// nextThread gives the threads to connections in turn.
func (s *Server) nextThread() *networkThread {
	return &s.threads[int(s.accepts.Add(1))%len(s.threads)]
}

func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// Serve accepts connections on ln until the server closes, then returns nil;
// it owns ln and closes it. Another error of the listener is returned, and
// connections already accepted live on.
func (s *Server) Serve(ln net.Listener) error {
	if !s.track(ln) {
		return ln.Close()
	}
	defer s.wg.Done()
	defer s.untrack(ln)
	for {
		nc, err := ln.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return nil
			}
			if pause, ok := transientAcceptPause(err); ok && s.pause(pause) {
				s.log.Warn("accept failed, retrying", "pause", pause, "err", err)
				continue
			}
			return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
		}
		s.start(nc)
	}
}

// transientAcceptPause says whether accepting may work again, as when the
// process is out of file descriptors.
func transientAcceptPause(err error) (time.Duration, bool) {
	var ne net.Error
	if errors.Is(err, net.ErrClosed) || !errors.As(err, &ne) {
		return 0, false
	}
	return 50 * time.Millisecond, true
}

// pause waits d and reports whether the server is still open.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *Server) track(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[ln] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *Server) untrack(ln net.Listener) {
	s.mu.Lock()
	delete(s.listeners, ln)
	s.mu.Unlock()
	ln.Close()
}

// start gives nc a connection of its own, or closes it where the server is
// full or closing.
func (s *Server) start(nc net.Conn) {
	s.mu.Lock()
	n := len(s.conns)
	if s.closed || n >= s.cfg.MaxConnections {
		closed := s.closed
		s.mu.Unlock()
		nc.Close()
		if !closed {
			s.log.Warn("connection refused: too many", "remote", nc.RemoteAddr(), "connections", n)
		}
		return
	}
	c := newServerConn(s, nc)
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		c.run()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
}

// Close stops accepting, ends the context of every handler, lets each answer
// the request it holds and closes the connections. When ctx ends first the
// connections are cut, and after a further second Close gives up on handlers
// that still run and says how many. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.cancel() // before the read deadlines below, see setReadDeadline
	s.mu.Lock()
	s.closed = true
	for ln := range s.listeners {
		ln.Close()
	}
	for c := range s.conns {
		c.stopReading()
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("close wire server %s: %d connections still have a handler running: %w", s.cfg.Listener, len(s.conns), context.Cause(ctx))
}
