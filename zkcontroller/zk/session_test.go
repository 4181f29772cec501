package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/zkserver"
	"kbench/kafka"
)

const patience = time.Minute // for whatever must come, on a busy machine

// testServer gives the address of a server for the session tests: the embedded
// one, or the one that KBENCH_TEST_ZOOKEEPER names as host:port.
func testServer(t *testing.T) string {
	t.Helper()
	if addr := os.Getenv("KBENCH_TEST_ZOOKEEPER"); addr != "" {
		return addr
	}
	srv, err := zkserver.New(zkserver.Config{DataDir: t.TempDir(), TickTime: 100 * time.Millisecond, MaxSessionTimeout: 20 * time.Second, NoSync: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return srv.Addr().String()
}

// recorder keeps the events of a session.
type recorder struct {
	mu     sync.Mutex
	events []Event
	bell   chan struct{}
}

func newRecorder() *recorder { return &recorder{bell: make(chan struct{}, 1)} }

func (r *recorder) put(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// want waits until e has come.
func (r *recorder) want(t *testing.T, e Event) {
	t.Helper()
	deadline := time.After(patience)
	for {
		r.mu.Lock()
		for _, got := range r.events {
			if got == e {
				r.mu.Unlock()
				return
			}
		}
		have := append([]Event(nil), r.events...)
		r.mu.Unlock()
		select {
		case <-r.bell:
		case <-deadline:
			t.Fatalf("no event %v %s within %v, got %v", e.Kind, e.Path, patience, have)
		}
	}
}

// cable is a dialer whose connections can be cut, and made to lose what is
// written or read.
type cable struct {
	mu    sync.Mutex
	conns []*cableConn
	down  bool
}

type cableConn struct {
	net.Conn
	mu     sync.Mutex
	dropIn bool
}

func (c *cable) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, &net.OpError{Op: "dial", Err: errors.New("cable is cut")}
	}
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	cc := &cableConn{Conn: conn}
	c.conns = append(c.conns, cc)
	return cc, nil
}

func (c *cable) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	if down {
		for _, cc := range c.conns {
			cc.Close()
		}
		c.conns = nil
	}
}

// loseReplies lets requests through and drops the connection instead of
// delivering what comes back.
func (c *cable) loseReplies() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cc := range c.conns {
		cc.mu.Lock()
		cc.dropIn = true
		cc.mu.Unlock()
	}
}

func (c *cableConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropIn {
		c.Conn.Close()
		return 0, errors.New("reply lost")
	}
	return n, err
}

var servers sync.Map // test name to address

func connect(t *testing.T, cfg Config) *Session {
	t.Helper()
	addr, ok := servers.Load(t.Name())
	if !ok {
		addr = testServer(t)
		servers.Store(t.Name(), addr)
	}
	cfg.Servers = []string{addr.(string)}
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = 20 * time.Second
	}
	cfg.ConnectTimeout = patience
	s, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func wipe(t *testing.T, s *Session, path string) {
	t.Helper()
	r := s.Do(t.Context(), Children(path))
	for _, c := range r.Children {
		wipe(t, s, path+"/"+c)
	}
	if r.Err == nil {
		if d := s.Do(t.Context(), Delete(path, AnyVersion)); d.Err != nil && !errors.Is(d.Err, ErrNoNode) {
			t.Fatal(d.Err)
		}
	}
}

func fresh(t *testing.T, s *Session) {
	t.Helper()
	for _, p := range []string{ControllerPath, ControllerEpochPath, "/brokers", "/admin", "/config", "/cluster", "/t"} {
		wipe(t, s, p)
	}
	if err := s.EnsurePersistentPaths(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestElectAndFence(t *testing.T) {
	a, b := connect(t, Config{}), connect(t, Config{})
	fresh(t, a)
	ctx := t.Context()
	ea, err := a.Elect(ctx, 1, 5)
	if err != nil || !ea.Won || ea.Epoch != 1 || ea.EpochVersion != 1 {
		t.Fatalf("first election: %+v, %v", ea, err)
	}
	if eb, err := b.Elect(ctx, 2, 5); err != nil || eb.Won || eb.Controller != 1 {
		t.Fatalf("second candidate: %+v, %v", eb, err)
	}
	if r := a.Do(ctx, Create("/t", nil).Fenced(ea.EpochVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := a.Do(ctx, Set("/t", []byte("x"), 0).Fenced(ea.EpochVersion)); r.Err != nil || r.Version != 1 {
		t.Fatalf("%+v", r)
	}
	if r := a.Do(ctx, Set("/t", []byte("x"), 0).Fenced(ea.EpochVersion)); !errors.Is(r.Err, ErrBadVersion) {
		t.Fatalf("stale version: %+v", r)
	}
	if r := a.Do(ctx, Create("/t/no/parent", nil).Fenced(ea.EpochVersion)); !errors.Is(r.Err, ErrNoNode) {
		t.Fatalf("no parent: %+v", r)
	}
	if err := a.ResignController(ctx, ea.EpochVersion); err != nil {
		t.Fatal(err)
	}
	eb, err := b.Elect(ctx, 2, 5)
	if err != nil || !eb.Won || eb.Epoch != 2 {
		t.Fatalf("after the resignation: %+v, %v", eb, err)
	}
	if r := a.Do(ctx, Set("/t", []byte("zombie"), AnyVersion).Fenced(ea.EpochVersion)); !errors.Is(r.Err, ErrFenced) {
		t.Fatalf("zombie's write: %+v", r)
	}
	if err := a.ResignController(ctx, ea.EpochVersion); !errors.Is(err, ErrFenced) {
		t.Fatalf("zombie's resignation: %v", err)
	}
}

func TestElectionWithLostReply(t *testing.T) {
	c := &cable{}
	s := connect(t, Config{Dial: c.dial})
	fresh(t, s)
	if r := s.Do(t.Context(), Create(ControllerEpochPath, EncodeControllerEpoch(7))); r.Err != nil {
		t.Fatal(r.Err)
	}
	// What Elect does, with the reply of the multi lost.
	epoch, version, err := s.controllerEpoch(t.Context())
	if err != nil || epoch != 7 {
		t.Fatal(epoch, err)
	}
	c.loseReplies()
	_, resent, err := s.multi(t.Context(), CreateEphemeral(ControllerPath, EncodeController(3, 1)), Set(ControllerEpochPath, EncodeControllerEpoch(8), version))
	if !resent || !errors.Is(err, ErrNodeExists) {
		t.Fatalf("resent %v, %v", resent, err)
	}
	e, err := s.lostReply(t.Context(), 3, 8)
	if err != nil || !e.Won || e.Epoch != 8 || e.EpochVersion != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
}

func TestRegisterBroker(t *testing.T) {
	rec := newRecorder()
	a := connect(t, Config{})
	fresh(t, a)
	ctx := t.Context()
	reg := BrokerRegistration{ID: 1, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}}}
	e1, err := a.RegisterBroker(ctx, reg)
	if err != nil || e1 <= 0 {
		t.Fatal(e1, err)
	}
	if again, err := a.RegisterBroker(ctx, reg); err != nil || again != e1 {
		t.Fatalf("same session again: %d, %v", again, err)
	}
	b := connect(t, Config{OnEvent: rec.put})
	var owned *OwnedError
	if _, err := b.RegisterBroker(ctx, reg); !errors.As(err, &owned) || owned.Owner != a.ID() {
		t.Fatalf("another session: %v", err)
	}
	b.Watch(BrokerPath(1))
	if r := b.Do(ctx, Get(BrokerPath(1))); r.Err != nil || kafka.BrokerEpoch(r.Czxid) != e1 {
		t.Fatalf("%+v", r)
	}
	next := connect(t, Config{PreviousSession: a.ID()})
	e2, err := next.RegisterBroker(ctx, reg)
	if err != nil || e2 <= e1 {
		t.Fatalf("successor's epoch %d after %d, %v", e2, e1, err)
	}
	rec.want(t, Event{NodeDeleted, BrokerPath(1)})
	gone := make(chan error, 1)
	go func() { gone <- b.WaitDeleted(ctx, BrokerPath(1)) }()
	next.Close(ctx)
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
}

func TestReconnectKeepsWatches(t *testing.T) {
	c, rec := &cable{}, newRecorder()
	s := connect(t, Config{Dial: c.dial, OnEvent: rec.put})
	other := connect(t, Config{})
	fresh(t, other)
	ctx := t.Context()
	const n = 3000 // several packets of watches
	for i := range n {
		s.Watch(TopicPath(name(i)))
	}
	err := other.Pipeline(ctx, n, func(i int) Op { return Create(TopicPath(name(i)), nil) }, func(int, Result) {})
	if err == nil {
		err = s.Pipeline(ctx, n, func(i int) Op { return Get(TopicPath(name(i))) }, func(int, Result) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.set(true)
	rec.want(t, Event{Kind: Disconnected})
	err = other.Pipeline(ctx, n, func(i int) Op { return Set(TopicPath(name(i)), []byte("x"), AnyVersion) }, func(int, Result) {})
	if err != nil {
		t.Fatal(err)
	}
	// Reads that wait for the connection are answered with newer zxids.
	done := make(chan error, 1)
	go func() {
		done <- s.Pipeline(ctx, 200, func(int) Op { return Get(BrokerIDsPath) }, func(int, Result) {})
	}()
	c.set(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i := range n {
		rec.want(t, Event{NodeDataChanged, TopicPath(name(i))})
	}
	rec.want(t, Event{Kind: Reconnected})
}

func name(i int) string {
	return "a-topic-with-a-rather-long-name-to-fill-packets-" + string(rune('a'+i%26)) + itoa(i)
}

func itoa(i int) string { return string(EncodeControllerEpoch(kafka.ControllerEpoch(i))) }

func TestExpiryIsFinal(t *testing.T) {
	c, rec := &cable{}, newRecorder()
	s := connect(t, Config{Dial: c.dial, OnEvent: rec.put, SessionTimeout: 3 * time.Second})
	other := connect(t, Config{})
	fresh(t, other)
	if r := s.Do(t.Context(), CreateEphemeral("/t", nil)); r.Err != nil {
		t.Fatal(r.Err)
	}
	c.set(true)
	if err := other.WaitDeleted(t.Context(), "/t"); err != nil {
		t.Fatal(err)
	}
	c.set(false)
	rec.want(t, Event{Kind: Expired})
	<-s.Done()
	if r := s.Do(t.Context(), Get(BrokerIDsPath)); !errors.Is(r.Err, ErrExpired) {
		t.Fatalf("after the expiry: %+v", r)
	}
	if err := s.Pipeline(t.Context(), 3, func(int) Op { return Get("/") }, func(int, Result) {}); !errors.Is(err, ErrExpired) {
		t.Fatal(err)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if last := rec.events[len(rec.events)-1]; last.Kind != Expired {
		t.Errorf("an event after Expired: %v", rec.events)
	}
}

// Requests that are made while a session is closed end with it, and none is begun
// once Close waits for those under way.
func TestRequestsBesideClose(t *testing.T) {
	for range 30 {
		s := connect(t, Config{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var err error
				for err == nil {
					err = s.Do(t.Context(), Exists("/")).Err
				}
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func TestTooLargeIsRefusedBeforehand(t *testing.T) {
	s := connect(t, Config{MaxRequestBytes: 200 << 10})
	var tooLarge *TooLargeError
	r := s.Do(t.Context(), Create("/t", make([]byte, 200<<10)))
	if !errors.As(r.Err, &tooLarge) || tooLarge.Limit != 200<<10 {
		t.Fatalf("%+v", r)
	}
	wipe(t, s, "/t")
	if r := s.Do(t.Context(), Create("/t", make([]byte, 199<<10))); r.Err != nil {
		t.Fatalf("just below the limit: %v", r.Err)
	}
	wipe(t, s, "/t")
}

func TestInFlightIsBounded(t *testing.T) {
	s := connect(t, Config{MaxInFlight: 3})
	var mu sync.Mutex
	now, most := 0, 0
	err := s.Pipeline(t.Context(), 500, func(int) Op {
		mu.Lock()
		defer mu.Unlock()
		now++
		most = max(most, now)
		return Exists("/")
	}, func(int, Result) {
		mu.Lock()
		defer mu.Unlock()
		now--
	})
	if err != nil || most > 3 || most < 2 {
		t.Fatalf("%d at once, %v", most, err)
	}
}

func TestConnectFails(t *testing.T) {
	if _, err := Connect(t.Context(), Config{}); err == nil {
		t.Error("no servers gave no error")
	}
	if _, err := Connect(t.Context(), Config{Servers: []string{"x"}, MaxRequestBytes: 1000}); err == nil {
		t.Error("a tiny buffer gave no error")
	}
	if _, err := Connect(t.Context(), Config{Servers: []string{"x:2181/kafka"}, ConnectTimeout: 100 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "has the chroot /kafka, which kbench does not support") {
		t.Errorf("a chroot: %v", err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t))
	if _, err := Connect(t.Context(), Config{Servers: []string{addr}, ConnectTimeout: 100 * time.Millisecond}); err == nil {
		t.Error("connected to nobody")
	}
}

func TestClusterIDAndConfig(t *testing.T) {
	s := connect(t, Config{})
	fresh(t, s)
	ctx := t.Context()
	for _, candidate := range []kafka.UUID{one, {15: 2}} {
		if id, err := s.ClusterID(ctx, candidate); err != nil || id != one.String() {
			t.Fatal(id, err)
		}
	}
	want := map[string]string{"retention.ms": "5"}
	if err := s.WriteConfig(ctx, TopicConfigs, "t", want); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadConfig(ctx, TopicConfigs, "t"); err != nil || got["retention.ms"] != "5" {
		t.Fatal(got, err)
	}
	if r := s.Do(ctx, Children(ConfigChangesPath)); r.Err != nil || len(r.Children) != 1 {
		t.Fatalf("%+v", r)
	}
}

// A list of children far over jute.maxbuffer, which bounds requests alone, is
// read in one reply.
func TestLongListOfChildren(t *testing.T) {
	s := connect(t, Config{})
	wipe(t, s, "/long")
	defer wipe(t, s, "/long")
	const n = 6000
	name := func(i int) string { return fmt.Sprintf("/long/%0240d", i) }
	if r := s.Do(t.Context(), Create("/long", nil)); r.Err != nil {
		t.Fatal(r.Err)
	}
	err := s.Pipeline(t.Context(), n, func(i int) Op { return Create(name(i), nil) }, func(i int, r Result) {
		if r.Err != nil {
			t.Errorf("%d: %v", i, r.Err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.WatchChildren("/long")
	if r := s.Do(t.Context(), Children("/long")); r.Err != nil || len(r.Children) != n {
		t.Errorf("%d children, %v", len(r.Children), r.Err)
	}
}
