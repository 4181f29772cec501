package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestPipelinedInOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []int32
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		mu.Lock()
		seen = append(seen, r.CorrelationID)
		mu.Unlock()
		return echoMetadata(ctx, r)
	})}})
	c := dial(t, addr)
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			name := strconv.Itoa(i)
			resp, err := c.Request(testContext(t), metadataRequest(9, name))
			if err != nil {
				t.Error(err)
				return
			}
			if got := *resp.(*kmsg.MetadataResponse).Topics[0].Topic; got != name {
				t.Errorf("asked for %s, got the answer of %s", name, got)
			}
		})
	}
	wg.Wait()
	for i, id := range seen {
		if int(id) != i {
			t.Fatalf("request %d was served as number %d", id, i)
		}
	}
}

func TestTimedOutRequestLeavesTheConnectionUsable(t *testing.T) {
	release := make(chan struct{})
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		if *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic == "slow" {
			<-release
		}
		return echoMetadata(ctx, r)
	})}})
	c := dial(t, addr)
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error, 1)
	go func() {
		_, err := c.Request(ctx, metadataRequest(9, "slow"))
		errs <- err
	}()
	awaitTrue(t, "the slow request to be sent", func() bool { return len(c.pending) == 1 })
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Metadata to "+addr) {
		t.Fatalf("got %v", err)
	}
	close(release)
	resp, err := c.Request(testContext(t), metadataRequest(9, "next"))
	if err != nil || *resp.(*kmsg.MetadataResponse).Topics[0].Topic != "next" {
		t.Fatalf("got %v, %v", resp, err)
	}
	if _, err := c.Request(ctx, metadataRequest(9, "ended")); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if c.Err() != nil {
		t.Errorf("an ended context broke the connection: %v", c.Err())
	}
}

// rawServer answers one connection with the bytes reply makes of each
// request's correlation id.
func rawServer(t *testing.T, reply func(id uint32) []byte) *Conn {
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer server.Close()
		for {
			frame, err := readFrame(server, 1<<20)
			if err != nil {
				return
			}
			if _, err := server.Write(reply(binary.BigEndian.Uint32(frame[4:]))); err != nil {
				return
			}
		}
	}()
	c, err := Dial(context.Background(), "pipe", DialOptions{MaxResponseBytes: 1000, Dial: func(context.Context, string, string) (net.Conn, error) {
		return client, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); <-done })
	return c
}

func TestBrokenResponses(t *testing.T) {
	be := binary.BigEndian
	for name, tc := range map[string]struct {
		reply func(id uint32) []byte
		want  string
	}{
		"foreign id":  {func(id uint32) []byte { return be.AppendUint32([]byte{0, 0, 0, 4}, id+1) }, "is due"},
		"no id":       {func(uint32) []byte { return []byte{0, 0, 0, 1, 9} }, "no correlation id"},
		"oversized":   {func(uint32) []byte { return []byte{0, 1, 0, 0} }, "frame of 65536 bytes"},
		"two answers": {func(id uint32) []byte { f := be.AppendUint32([]byte{0, 0, 0, 4}, id); return append(f, f...) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := rawServer(t, tc.reply)
			_, err := c.Request(testContext(t), metadataRequest(9, "a"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			<-c.Done()
			if _, err := c.Request(testContext(t), metadataRequest(9, "a")); err == nil {
				t.Error("a broken connection answered")
			}
		})
	}
	t.Run("undecodable", func(t *testing.T) {
		c := rawServer(t, func(id uint32) []byte { return be.AppendUint32([]byte{0, 0, 0, 4}, id) })
		if _, err := c.Request(testContext(t), metadataRequest(1, "a")); err == nil {
			t.Fatal("an empty body was decoded")
		}
		if c.Err() != nil {
			t.Errorf("one undecodable body broke the connection: %v", c.Err())
		}
	})
}

func TestCloseFailsWhatWaits(t *testing.T) {
	c := rawServer(t, func(uint32) []byte { return nil })
	errs := make(chan error)
	for range 3 {
		go func() {
			_, err := c.Request(context.Background(), metadataRequest(9, "a"))
			errs <- err
		}()
	}
	awaitTrue(t, "three requests in flight", func() bool { return len(c.pending) == 3 })
	c.Close()
	for range 3 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestProduceWithoutAcks(t *testing.T) {
	got := make(chan int16, 2)
	addr, _, _ := serve(t, ServerConfig{APIs: []API{{Key: 0, MinVersion: 3, MaxVersion: 9, Handle: func(_ context.Context, r *Request) (kmsg.Response, error) {
		acks := r.Body.(*kmsg.ProduceRequest).Acks
		got <- acks
		if acks == 0 {
			return nil, nil
		}
		return kmsg.NewPtrProduceResponse(), nil
	}}}})
	c := dial(t, addr)
	for _, acks := range []int16{0, -1} {
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks = 9, acks
		resp, err := c.Request(testContext(t), req)
		if err != nil || (resp == nil) != (acks == 0) {
			t.Fatalf("acks %d: %v, %v", acks, resp, err)
		}
		if a := <-got; a != acks {
			t.Fatalf("handler saw acks %d", a)
		}
	}
}

func TestDialFails(t *testing.T) {
	const addr = "127.0.0.1:1"
	if _, err := Dial(testContext(t), addr, DialOptions{}); err == nil || !strings.Contains(err.Error(), addr) {
		t.Fatalf("got %v", err)
	}
}

func TestReadFrameChunks(t *testing.T) {
	size := 3*frameChunk + 17
	r := io.MultiReader(strings.NewReader(string(binary.BigEndian.AppendUint32(nil, uint32(size)))), io.LimitReader(zeros{}, int64(size)))
	b, err := readFrame(r, size)
	if err != nil || len(b) != size {
		t.Fatalf("got %d bytes, %v", len(b), err)
	}
	// A size alone must not cost its bytes.
	n := testing.AllocsPerRun(10, func() {
		if _, err := readFrame(strings.NewReader("\x06\x00\x00\x00"), 1<<30); err == nil {
			t.Error("no error")
		}
	})
	if n > 10 {
		t.Errorf("%v allocations for a frame that did not come", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func BenchmarkRoundTrip(b *testing.B) {
	addr, _, _ := serve(b, ServerConfig{APIs: []API{metadataAPI(echoMetadata)}})
	c := dial(b, addr)
	req := metadataRequest(12, "a")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Request(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPipelined(b *testing.B) {
	addr, _, _ := serve(b, ServerConfig{APIs: []API{metadataAPI(echoMetadata)}})
	c := dial(b, addr)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		req := metadataRequest(12, "a")
		for pb.Next() {
			if _, err := c.Request(context.Background(), req); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
