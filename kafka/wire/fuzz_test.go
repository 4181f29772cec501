package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
)

const (
	// allocationFactor bounds what may be allocated for a byte: an element of a
	// list takes one at least, and some hundred in memory, at each depth.
	allocationFactor = 2048
	// slackBytes is what may be allocated whatever comes. The counter is exact to
	// the spans that are handed out, of which each processor holds one of every
	// size.
	slackBytes = 4 << 20
)

// withinBounds fails where decode allocates more than its input can need.
func withinBounds(t *testing.T, inputBytes int, decode func()) {
	t.Helper()
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	before := s[0].Value.Uint64()
	decode()
	metrics.Read(s)
	if got := s[0].Value.Uint64() - before; got > uint64(inputBytes)*allocationFactor+slackBytes {
		t.Fatalf("%d bytes were allocated for an input of %d", got, inputBytes)
	}
}

// FuzzServer feeds arbitrary bytes to a connection: the server must neither
// panic outside a handler nor hang, nor allocate for what was only announced.
func FuzzServer(f *testing.F) {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("f"))
	f.Add(format.AppendRequest(nil, metadataRequest(12, "a"), 1))
	f.Add(format.AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 2))
	f.Add([]byte{0, 0, 0, 10, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0})
	f.Add([]byte{3, 0xff, 0xff, 0xff, 0})
	all := make([]API, 0, kmsg.MaxKey)
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil || key == keyAPIVersions {
			continue
		}
		req.SetVersion(req.MaxVersion())
		f.Add(format.AppendRequest(nil, req, int32(key)))
		all = append(all, API{Key: key, MaxVersion: req.MaxVersion(), Handle: func(_ context.Context, r *Request) (kmsg.Response, error) {
			return r.Body.ResponseKind(), nil
		}})
	}
	srv, err := NewServer(ServerConfig{APIs: all, MaxRequestBytes: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		withinBounds(t, len(data), func() { speak(t, srv, data) })
	})
}

// speak connects, sends data and leaves when it is answered.
func speak(t *testing.T, srv *Server, data []byte) {
	client, server := net.Pipe()
	srv.start(server)
	_ = client.SetDeadline(time.Now().Add(patience))
	drained := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, client)
		drained <- err
	}()
	_, _ = client.Write(data) // the server may hang up in the middle
	// A pipe has no half-close: end it once what was sent is answered.
	awaitTrue(t, "the connection to be idle or gone", func() bool { return srv.idle() })
	client.Close()
	if err := <-drained; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("drain: %v", err)
	}
	awaitTrue(t, "the connection to end", func() bool { return srv.connections() == 0 })
}

// FuzzReadFrame: a frame is what came behind its size, or an error, and bytes
// that did not come cost nothing.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 'a', 'b', 'c'}, 10)
	f.Add([]byte{0x3f, 0xff, 0xff, 0xff, 'a'}, 1<<30)
	f.Add([]byte{0x16, 3, 1, 0, 0}, 100)
	f.Fuzz(func(t *testing.T, data []byte, maxBytes int) {
		r := bytes.NewReader(data)
		var frame []byte
		var err error
		withinBounds(t, len(data), func() { frame, err = readFrame(r, maxBytes) })
		if err == nil && (len(frame) > maxBytes || !bytes.Equal(frame, data[4:len(data)-r.Len()])) {
			t.Fatalf("%x of %x, at most %d bytes", frame, data, maxBytes)
		}
	})
}

// FuzzDecodeResponse decodes arbitrary bodies as every response.
func FuzzDecodeResponse(f *testing.F) {
	f.Add(int16(3), int16(9), []byte{0, 0, 0, 0, 1})
	f.Add(int16(18), int16(3), []byte{0, 35, 0, 0, 0, 0})
	for _, key := range []int16{0, 1, 3, 19, 32, 52, 55, 59, 60, 62} {
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(resp.MaxVersion())
		f.Add(key, resp.GetVersion(), append([]byte{0}, resp.AppendTo(nil)...))
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || version < 0 || version > req.MaxVersion() {
			t.Skip()
		}
		req.SetVersion(version)
		var resp kmsg.Response
		var err error
		withinBounds(t, len(body), func() { resp, err = decodeResponse(req, body) })
		if (resp == nil) == (err == nil) {
			t.Fatalf("got %v, %v", resp, err)
		}
	})
}

// FuzzUnwrap decodes arbitrary envelopes.
func FuzzUnwrap(f *testing.F) {
	env := WrapRequest(&Request{Principal: "User:a", Body: metadataRequest(12, "t")}, 1)
	f.Add(env.RequestData, env.RequestPrincipal)
	f.Fuzz(func(t *testing.T, data, principal []byte) {
		var r *Request
		var err error
		withinBounds(t, len(data)+len(principal), func() {
			r, err = UnwrapRequest(&Request{}, &kmsg.EnvelopeRequest{RequestData: data, RequestPrincipal: principal})
		})
		if (r == nil) == (err == nil) {
			t.Fatalf("got %v, %v", r, err)
		}
	})
}

// FuzzSASL gives the tokens of a client to each mechanism: nobody is let in who
// shows no password.
func FuzzSASL(f *testing.F) {
	f.Add("n,,n=user,r=nonce", "c=biws,r=nonce,p=AAAA")
	f.Add("n,,n=id,r=nonce,tokenauth=true", "c=biws,r=nonce,p=AAAA")
	f.Add("\x00user\x00guess", "")
	s := &SASL{
		Mechanisms: []access.Mechanism{access.ScramSHA256},
		Keys: func(user string, m access.Mechanism) (access.Keys, bool) {
			return m.KeysOf(make([]byte, 32), []byte("salt"), access.MinIterations), user == "user"
		},
		Token: func(id string) (Token, bool) { return Token{Owner: "User:o", Secret: "s"}, id == "id" },
		Plain: func(string, string) bool { return false },
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		scram, err := newScramExchange(s, access.ScramSHA256)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []exchange{scram, plainExchange{s}} {
			withinBounds(t, len(first)+len(second), func() {
				for _, token := range []string{first, second} {
					_, who, err := e.step([]byte(token))
					if who != nil {
						t.Errorf("%q and %q let %s in", first, second, who.principal)
					}
					if err != nil {
						return
					}
				}
			})
		}
	})
}
