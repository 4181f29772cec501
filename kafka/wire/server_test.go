package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kbench/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute // for whatever must come, on a busy machine

// logBuffer collects a server's log for assertions.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await polls until the log holds want.
func (l *logBuffer) await(t *testing.T, want string) {
	t.Helper()
	awaitTrue(t, "log line with "+want, func() bool { return strings.Contains(l.String(), want) })
}

func awaitTrue(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// serve starts a server on loopback and closes it with the test.
func serve(t testing.TB, cfg ServerConfig) (addr string, srv *Server, log *logBuffer) {
	t.Helper()
	log = &logBuffer{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	if cfg.Listener == "" {
		cfg.Listener = "TEST"
	}
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String(), srv, log
}

func dial(t testing.TB, addr string) *Conn {
	t.Helper()
	c, err := Dial(testContext(t), addr, DialOptions{ClientID: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func metadataAPI(h Handler) API { return API{Key: 3, MinVersion: 1, MaxVersion: 12, Handle: h} }

// echoMetadata answers Metadata with the topics asked.
func echoMetadata(_ context.Context, r *Request) (kmsg.Response, error) {
	resp := kmsg.NewPtrMetadataResponse()
	for _, t := range r.Body.(*kmsg.MetadataRequest).Topics {
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic = t.Topic
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func metadataRequest(version int16, topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	for _, name := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func TestRoundTripEveryVersion(t *testing.T) {
	var got Request
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		got = *r
		return echoMetadata(ctx, r)
	})}})
	c := dial(t, addr)
	for v := int16(1); v <= 12; v++ {
		resp, err := c.Request(testContext(t), metadataRequest(v, "a", "b"))
		if err != nil {
			t.Fatalf("version %d: %v", v, err)
		}
		if m := resp.(*kmsg.MetadataResponse); m.Version != v || len(m.Topics) != 2 || *m.Topics[1].Topic != "b" {
			t.Fatalf("version %d: got %+v", v, m)
		}
		if got.Version != v || got.ClientID != "tester" || got.Listener != "TEST" || got.Principal != "User:ANONYMOUS" || got.Remote == nil {
			t.Fatalf("version %d: handler saw %+v", v, got)
		}
	}
}

func TestAPIVersions(t *testing.T) {
	addr, _, _ := serve(t, ServerConfig{
		APIs: []API{metadataAPI(echoMetadata), {Key: 1, MinVersion: 4, MaxVersion: 17, Handle: echoMetadata}},
		Features: func(r *kmsg.ApiVersionsResponse) {
			r.FinalizedFeaturesEpoch = 9
		},
	})
	c := dial(t, addr)
	for _, version := range []int16{0, 1, 2, 3, 4, 5, 99} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.SetVersion(version)
		kresp, err := c.Request(testContext(t), req)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		resp := kresp.(*kmsg.ApiVersionsResponse)
		if version > maxAPIVersionsVersion {
			if resp.Version != 0 || kafka.ErrorCode(resp.ErrorCode) != kafka.UnsupportedVersion || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].MaxVersion != maxAPIVersionsVersion {
				t.Fatalf("version %d: fallback is %+v", version, resp)
			}
			continue
		}
		if len(resp.ApiKeys) != 3 || resp.ApiKeys[0].ApiKey != 1 || resp.ApiKeys[2].ApiKey != 18 {
			t.Fatalf("version %d: keys %+v", version, resp.ApiKeys)
		}
		if version >= 3 && resp.FinalizedFeaturesEpoch != 9 {
			t.Fatalf("version %d: the Features hook was not called", version)
		}
	}
	v, err := c.APIVersions(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Pick(1, 0, 18); got != 17 || err != nil {
		t.Fatalf("Pick = %d, %v", got, err)
	}
	for _, bad := range [][3]int16{{1, 18, 18}, {1, 0, 3}, {2, 0, 1}} {
		if _, err := v.Pick(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("Pick(%v) gave no error", bad)
		}
	}
}

func TestControlledShutdownV0HasNoClientID(t *testing.T) {
	var id int32
	addr, _, _ := serve(t, ServerConfig{APIs: []API{{Key: 7, MaxVersion: 3, Handle: func(_ context.Context, r *Request) (kmsg.Response, error) {
		id = r.Body.(*kmsg.ControlledShutdownRequest).BrokerID
		return kmsg.NewPtrControlledShutdownResponse(), nil
	}}}})
	c := dial(t, addr)
	for v := int16(0); v <= 3; v++ {
		req := kmsg.NewPtrControlledShutdownRequest()
		req.Version, req.BrokerID = v, 40+int32(v)
		if _, err := c.Request(testContext(t), req); err != nil || id != 40+int32(v) {
			t.Fatalf("version %d: broker %d, %v", v, id, err)
		}
	}
}

func TestFranzGoClient(t *testing.T) {
	var addr string
	addr, _, _ = serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		kresp, err := echoMetadata(ctx, r)
		resp := kresp.(*kmsg.MetadataResponse)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 1, "127.0.0.1", int32(r.Remote.(*net.TCPAddr).Port)
		resp.Brokers = append(resp.Brokers, b)
		return resp, err
	})}})
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	resp, err := cl.SeedBrokers()[0].Request(testContext(t), metadataRequest(0, "through-kgo"))
	if err != nil {
		t.Fatal(err)
	}
	if m := resp.(*kmsg.MetadataResponse); m.Version != 12 || *m.Topics[0].Topic != "through-kgo" {
		t.Fatalf("got %+v", m)
	}
}

// TestBrokenInput sends what no client should and expects the connection to
// be closed with a reason in the log, and the server to serve on.
func TestBrokenInput(t *testing.T) {
	addr, _, log := serve(t, ServerConfig{MaxRequestBytes: 1000, APIs: []API{metadataAPI(echoMetadata)}})
	frame := func(parts ...[]byte) []byte {
		body := bytes.Join(parts, nil)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	header := func(key, version uint16) []byte {
		b := binary.BigEndian.AppendUint16(nil, key)
		b = binary.BigEndian.AppendUint16(b, version)
		return append(b, 0, 0, 0, 1, 0xff, 0xff)
	}
	for _, tc := range []struct {
		name string
		send []byte
		half bool // the client closes its side after sending
		want string
	}{
		{"unknown key", frame(header(999, 0)), false, "key 999 "},
		{"unserved key", frame(header(1, 4)), false, "key 1 "},
		{"version too new", frame(header(3, 13)), false, "versions 1 to 12 are served"},
		{"version too old", frame(header(3, 0)), false, "version 0 from"},
		{"negative version", frame(header(3, 0xffff)), false, "version -1 from"},
		{"oversized", []byte{0x7f, 0xff, 0xff, 0xff}, false, "frame of 2147483647 bytes"},
		{"negative size", []byte{0xff, 0xff, 0xff, 0xff}, false, "frame of -1 bytes"},
		{"empty", frame(), false, "request of 0 bytes"},
		{"truncated frame", []byte{0, 0, 0, 100, 1, 2, 3}, true, "3 of 100 bytes came"},
		{"truncated size", []byte{0, 0}, true, "inside the size"},
		{"no client id", frame([]byte{0, 3, 0, 1, 0, 0, 0, 1}), false, "no client id"},
		{"client id too long", frame([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0, 9, 'x'}), false, "client id of 9 bytes with 1 left"},
		{"client id negative", frame([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xfe, 'x'}), false, "client id of -2 bytes"},
		{"header tag too long", frame(header(3, 9), []byte{1, 0, 50}), false, "header tag of 50 bytes"},
		{"header tags broken", frame(header(3, 9), bytes.Repeat([]byte{0xff}, 11)), false, "broken varint"},
		{"body truncated", frame(header(3, 1), []byte{0, 0, 0}), false, "does not decode"},
		{"array too long", frame(header(3, 1), []byte{0x7f, 0, 0, 0}), false, "does not decode"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if _, err := nc.Write(tc.send); err != nil {
				t.Fatal(err)
			}
			if tc.half {
				if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			_ = nc.SetReadDeadline(time.Now().Add(patience))
			if n, err := nc.Read(make([]byte, 1)); n != 0 || errors.Is(err, context.DeadlineExceeded) || err == nil {
				t.Fatalf("the connection was not closed: %d, %v", n, err)
			}
			log.await(t, tc.want)
		})
	}
	if _, err := dial(t, addr).Request(testContext(t), metadataRequest(12, "a")); err != nil {
		t.Fatalf("the server does not serve on: %v", err)
	}
}

func TestHandlerFailures(t *testing.T) {
	addr, _, log := serve(t, ServerConfig{APIs: []API{metadataAPI(func(_ context.Context, r *Request) (kmsg.Response, error) {
		switch *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic {
		case "panic":
			panic("planted panic")
		case "wrong":
			return kmsg.NewPtrFetchResponse(), nil
		}
		return nil, errors.New("planted error")
	})}})
	for topic, want := range map[string]string{
		"panic": "planted panic", "error": "planted error", "wrong": "handler of key 3 answered with key 1",
	} {
		if _, err := dial(t, addr).Request(testContext(t), metadataRequest(9, topic)); err == nil {
			t.Errorf("%s: the connection survived", topic)
		}
		log.await(t, want)
	}
	log.await(t, "TestHandlerFailures") // the stack of the panic
}

func TestContextEndsWhenClientLeaves(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, _ *Request) (kmsg.Response, error) {
		close(entered)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	})}})
	c := dial(t, addr)
	go func() { _, _ = c.Request(context.Background(), metadataRequest(9, "a")) }()
	<-entered
	c.Close()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the handler's context did not end")
	}
}

func TestCloseAnswersWhatIsInFlight(t *testing.T) {
	entered := make(chan struct{})
	addr, srv, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		close(entered)
		<-ctx.Done() // a parked fetch answers with what it has
		return echoMetadata(ctx, r)
	})}})
	c := dial(t, addr)
	idle := dial(t, addr)
	answer := make(chan error, 1)
	go func() {
		_, err := c.Request(context.Background(), metadataRequest(9, "a"))
		answer <- err
	}()
	<-entered
	if err := srv.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Errorf("the request in flight failed: %v", err)
	}
	if _, err := idle.Request(testContext(t), metadataRequest(9, "a")); err == nil {
		t.Error("a closed server answered")
	}
	if err := srv.Close(testContext(t)); err != nil {
		t.Errorf("second Close: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(ln); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("Serve after Close left the listener open")
	}
}

func TestCloseIsBounded(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	addr, srv, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(context.Context, *Request) (kmsg.Response, error) {
		close(entered)
		<-release
		return nil, nil
	})}})
	c := dial(t, addr)
	go func() { _, _ = c.Request(context.Background(), metadataRequest(9, "a")) }()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := srv.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 connections still") {
		t.Errorf("Close beside a stuck handler: %v", err)
	}
	close(release)
}

func TestBounds(t *testing.T) {
	t.Run("connections", func(t *testing.T) {
		addr, _, log := serve(t, ServerConfig{MaxConnections: 1, APIs: []API{metadataAPI(echoMetadata)}})
		first := dial(t, addr)
		if _, err := first.Request(testContext(t), metadataRequest(9, "a")); err != nil {
			t.Fatal(err)
		}
		if _, err := dial(t, addr).Request(testContext(t), metadataRequest(9, "a")); err == nil {
			t.Error("a second connection was served")
		}
		log.await(t, "too many")
		first.Close()
		awaitTrue(t, "room for a connection", func() bool {
			_, err := dial(t, addr).Request(testContext(t), metadataRequest(9, "a"))
			return err == nil
		})
	})
	t.Run("idle", func(t *testing.T) {
		addr, _, log := serve(t, ServerConfig{IdleTimeout: 20 * time.Millisecond, APIs: []API{metadataAPI(echoMetadata)}})
		c, err := net.Dial("tcp", addr) // and nothing more: a busy machine may be late with a request
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("the idle connection was kept: %v", err)
		}
		log.await(t, "no request for 20ms")
	})
	t.Run("idle while a handler works", func(t *testing.T) {
		const idle = 20 * time.Millisecond
		entered, release := make(chan struct{}, 1), make(chan struct{})
		addr, _, _ := serve(t, ServerConfig{IdleTimeout: idle, APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
			entered <- struct{}{}
			select {
			case <-release:
				return echoMetadata(ctx, r)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})}})
		answer := make(chan error, 1)
		awaitTrue(t, "a request within the idle time", func() bool { // a busy machine may be late with it
			c, err := Dial(testContext(t), addr, DialOptions{ClientID: "tester"})
			if err != nil {
				return false
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				_, err := c.Request(testContext(t), metadataRequest(9, "a"))
				answer <- err
			}()
			select {
			case <-entered:
				return true
			case <-answer:
				return false
			}
		})
		time.AfterFunc(5*idle, func() { close(release) })
		if err := <-answer; err != nil {
			t.Errorf("cut while its handler worked: %v", err)
		}
	})
}

func TestNewServerRefuses(t *testing.T) {
	for name, cfg := range map[string]ServerConfig{
		"unknown key":     {APIs: []API{{Key: 999, Handle: echoMetadata}}},
		"ApiVersions":     {APIs: []API{{Key: 18, Handle: echoMetadata}}},
		"no handler":      {APIs: []API{{Key: 3}}},
		"versions":        {APIs: []API{{Key: 3, MinVersion: 2, MaxVersion: 1, Handle: echoMetadata}}},
		"version unknown": {APIs: []API{{Key: 3, MaxVersion: 1000, Handle: echoMetadata}}},
		"twice":           {APIs: []API{metadataAPI(echoMetadata), metadataAPI(echoMetadata)}},
		"negative bound":  {MaxConnections: -1},
		"SASL of nothing": {SASL: &SASL{}},
	} {
		if _, err := NewServer(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBytesAliasTheirOwnBuffer(t *testing.T) {
	var kept [][]byte
	addr, _, _ := serve(t, ServerConfig{APIs: []API{{Key: 58, Handle: func(_ context.Context, r *Request) (kmsg.Response, error) {
		kept = append(kept, r.Body.(*kmsg.EnvelopeRequest).RequestData)
		return kmsg.NewPtrEnvelopeResponse(), nil
	}}}})
	c := dial(t, addr)
	for _, s := range []string{"first", "other"} {
		req := kmsg.NewPtrEnvelopeRequest()
		req.RequestData = []byte(s)
		if _, err := c.Request(testContext(t), req); err != nil {
			t.Fatal(err)
		}
	}
	if string(kept[0]) != "first" || string(kept[1]) != "other" {
		t.Fatalf("a later request overwrote an earlier one: %q", kept)
	}
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.busy.Load() > 0 {
			return false
		}
	}
	return true
}
