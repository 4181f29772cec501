package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// Session is one ZooKeeper session. It dies by expiry or Close and is not
// revived: its owner makes another.
type Session struct {
	cfg    Config
	conn   *gozk.Conn
	link   *link
	id     int64
	flight chan struct{} // one token for each outstanding request

	reqBytes, requests atomic.Int64
	readsSingly        atomic.Bool // the server does not read many znodes at once

	watchMu  sync.RWMutex
	nodes    map[string]struct{} // paths whose data or existence is watched
	children map[string]struct{} // paths whose children are watched

	mu        sync.Mutex
	connected chan struct{} // closed while a connection with this session is up
	up        bool
	began     bool
	err       error         // why the session is dead
	done      chan struct{} // closed when it is

	wg sync.WaitGroup // calls, see begin
}

// Connect opens a session, or fails within cfg.ConnectTimeout.
func Connect(ctx context.Context, cfg Config) (*Session, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Session{
		cfg:       cfg,
		flight:    make(chan struct{}, cfg.MaxInFlight),
		nodes:     make(map[string]struct{}),
		children:  make(map[string]struct{}),
		connected: make(chan struct{}),
		done:      make(chan struct{}),
	}
	s.link = newLink(&cfg, s.done)
	conn, _, err := gozk.Connect(cfg.Servers, cfg.SessionTimeout,
		gozk.WithDialer(s.link.dial),
		gozk.WithHostProvider(s.link),
		gozk.WithEventCallback(s.onEvent),
		gozk.WithLogger(slogPrinter{cfg.Logger}),
		gozk.WithLogInfo(false),
		gozk.WithMaxConnBufferSize(cfg.MaxRequestBytes+1024),
		gozk.WithMaxBufferSize(cfg.MaxReplyBytes),
	)
	if err != nil {
		return nil, fmt.Errorf("zk: connect to %v: %w", cfg.Servers, err)
	}
	s.conn = conn
	if err := s.await(ctx); err != nil {
		s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	s.id = conn.SessionID()
	return s, nil
}

// A Connect that waits says so: soon, for whoever watches a node start, and then
// at a pace that fills no log.
const (
	firstTold = 1500 * time.Millisecond
	toldEvery = 5 * time.Second
)

func (s *Session) await(parent context.Context) error {
	until := time.Now().Add(s.cfg.ConnectTimeout)
	ctx, cancel := context.WithDeadline(parent, until)
	defer cancel()
	s.mu.Lock()
	connected := s.connected
	s.mu.Unlock()
	servers := strings.Join(s.cfg.Servers, ",")
	tell := time.NewTimer(firstTold)
	defer tell.Stop()
	for {
		select {
		case <-connected:
			return nil
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			if err := parent.Err(); err != nil {
				return fmt.Errorf("zk: no session with ZooKeeper at %s: %w", servers, err)
			}
			return fmt.Errorf("zk: no session with ZooKeeper at %s within %v: %w; see that it runs there, or name other servers", servers, s.cfg.ConnectTimeout, s.link.why())
		case <-tell.C:
			s.cfg.Logger.Warn("cannot reach ZooKeeper, still trying", "servers", servers, "reason", s.link.why(), "until", until.Round(0))
			tell.Reset(toldEvery)
		}
	}
}

// ID is the session's id, by which ephemeral znodes name their owner.
func (s *Session) ID() int64 { return s.id }

// Done is closed when the session is dead.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is nil while the session lives, then ErrExpired, ErrClosed or ErrAuthFailed.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// MaxRequestBytes is the limit that writes are held to.
func (s *Session) MaxRequestBytes() int { return s.cfg.MaxRequestBytes }

// MaxInFlight is the bound on outstanding requests.
func (s *Session) MaxInFlight() int { return s.cfg.MaxInFlight }

// Requests gives how many requests were sent and their bytes, estimated from above.
func (s *Session) Requests() (count, bytes int64) { return s.requests.Load(), s.reqBytes.Load() }

// Close ends the session, so that its ephemeral znodes go at once. It waits
// until every call has returned, at most until ctx ends or five seconds, and
// may be called again.
func (s *Session) Close(ctx context.Context) error {
	s.die(ErrClosed)
	closed := make(chan struct{})
	go func() {
		s.conn.Close() // up to 3 s when the server does not answer
		s.wg.Wait()
		close(closed)
	}()
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("zk: close session 0x%x: %w", uint64(s.id), ctx.Err())
	case <-t.C:
		return fmt.Errorf("zk: close session 0x%x: no answer within 5s", uint64(s.id))
	}
}

// Abandon drops the connection and the session without telling the server, so
// that the session's ephemeral znodes stay until the server expires it: what a
// crash does.
func (s *Session) Abandon() {
	s.die(ErrClosed)
	s.link.cut()
	go s.conn.Close()
}

// die makes the session dead, once.
func (s *Session) die(why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.err = why
	s.setUp(false)
	close(s.done)
	return true
}

// setUp opens or shuts the gate that requests pass. The caller holds mu.
func (s *Session) setUp(up bool) {
	if up == s.up {
		return
	}
	s.up = up
	if up {
		close(s.connected)
	} else {
		s.connected = make(chan struct{})
	}
}

// onEvent runs on the library's goroutines, in the server's order.
func (s *Session) onEvent(e gozk.Event) {
	if e.Type == gozk.EventSession {
		s.onState(e.State)
		return
	}
	kind, children := NodeDataChanged, false
	switch e.Type {
	case gozk.EventNodeCreated:
		kind = NodeCreated
	case gozk.EventNodeDeleted:
		kind = NodeDeleted
	case gozk.EventNodeDataChanged:
	case gozk.EventNodeChildrenChanged:
		kind, children = NodeChildrenChanged, true
	default:
		return
	}
	if s.watched(e.Path, children) {
		s.emit(Event{Kind: kind, Path: e.Path})
	}
}

func (s *Session) onState(state gozk.State) {
	switch state {
	case gozk.StateHasSession:
		if !s.login() {
			return
		}
		s.mu.Lock()
		again := s.began && s.err == nil
		s.began = true
		if s.err == nil {
			s.setUp(true)
		}
		s.mu.Unlock()
		s.link.established(again && s.anyWatch())
		if again {
			s.emit(Event{Kind: Reconnected})
		}
	case gozk.StateDisconnected:
		s.mu.Lock()
		was := s.up
		s.setUp(false)
		s.mu.Unlock()
		if was {
			s.emit(Event{Kind: Disconnected})
		}
	case gozk.StateExpired:
		if s.die(ErrExpired) {
			s.emit(Event{Kind: Expired})
		}
	}
}

// login shows who the session is on a new connection, before the library sends
// anything else there: also the watches that it arms again count on it. A refusal
// is final, as it is to Kafka; a connection that breaks meanwhile is made anew.
func (s *Session) login() bool {
	if !s.cfg.Access.shows() {
		return true
	}
	err := s.link.login(s.cfg.Access)
	if err == nil {
		return true
	}
	err = fmt.Errorf("log in as %s: %w", s.cfg.Access.User, err)
	refused := errors.Is(err, ErrAuthFailed)
	if !refused && s.link.failed(err) >= maxLogins && !s.hasBegun() {
		// Behind TLS a server may hang up before its refusal is read.
		refused, err = true, fmt.Errorf("%w: %d connections ended on the login: %w", ErrAuthFailed, maxLogins, err)
	}
	if refused && s.die(err) {
		s.emit(Event{Kind: Expired})
	}
	s.link.cut()
	return false
}

// maxLogins bounds the logins that break off before a session has begun.
const maxLogins = 5

func (s *Session) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

func (s *Session) emit(e Event) {
	if s.cfg.OnEvent != nil {
		s.cfg.OnEvent(e)
	}
}

// Do sends one request and waits for its reply, sending it again where a
// connection was lost in between.
func (s *Session) Do(ctx context.Context, o Op) Result {
	ch := make(chan Result, 1)
	if err := s.begin(func() { ch <- s.do(ctx, &o) }); err != nil {
		return Result{Err: err}
	}
	select {
	case r := <-ch:
		return r
	case <-ctx.Done():
		return Result{Err: fmt.Errorf("zk: %s: %w", o.path, ctx.Err())}
	}
}

// begin starts a call that Close waits for, unless the session is dead: from then
// on none is added to those that Close waits for.
func (s *Session) begin(call func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.wg.Go(call)
	return nil
}

// do is Do without an escape from a request that the library holds; that one
// ends at the latest with the session or two thirds of its timeout.
func (s *Session) do(ctx context.Context, o *Op) (r Result) {
	if n := o.size(); n > s.cfg.MaxRequestBytes {
		return Result{Err: &TooLargeError{Path: o.path, Size: n, Limit: s.cfg.MaxRequestBytes}}
	}
	resent := false
	for { // ends with the session or ctx
		if err := s.pass(ctx); err != nil {
			return Result{Err: err, Resent: resent}
		}
		r = s.exec(o)
		<-s.flight
		s.requests.Add(1)
		s.reqBytes.Add(int64(o.size()))
		if !lost(r.Err) {
			r.Resent = resent
			return r
		}
		resent = true
	}
}

// pass waits for a connection and a free place among the requests in flight.
func (s *Session) pass(ctx context.Context) error {
	for {
		s.mu.Lock()
		connected := s.connected
		s.mu.Unlock()
		select {
		case <-connected:
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case s.flight <- struct{}{}:
		case <-s.done:
			return s.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
		up, err := s.up, s.err
		s.mu.Unlock()
		if up && err == nil {
			return nil
		}
		<-s.flight
	}
}

// IsDead reports whether err says that the session is over.
func IsDead(err error) bool {
	return errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed) || errors.Is(err, ErrAuthFailed)
}
