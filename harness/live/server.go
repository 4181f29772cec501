package live

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:embed page
var pageFiles embed.FS

// What one client may cost.
const (
	headerTimeout   = 5 * time.Second
	writeTimeout    = 10 * time.Second // of one answer, or one event of a stream
	idleTimeout     = time.Minute
	shutdownTimeout = 3 * time.Second
	maxHeaderBytes  = 16 << 10
	maxStreams      = 32
)

// Server shows a board over HTTP: a page with charts at /, its events at
// /events, Prometheus metrics at /metrics, and /healthz. It changes nothing.
type Server struct {
	board    *Board
	listener net.Listener
	http     *http.Server
	exposed  bool
	streams  chan struct{} // one token for each open stream
	ended    chan struct{} // closed when streams must come to their end

	once   sync.Once
	served chan struct{}
}

// Serve listens on addr, host:port, and serves the board until Close. Port 0
// takes a free one; without a host it is 127.0.0.1. Any other interface must be
// named, by 0.0.0.0 where all are meant.
func Serve(addr string, board *Board) (*Server, error) {
	listener, host, err := listen(addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		board: board, listener: listener, streams: make(chan struct{}, maxStreams),
		ended: make(chan struct{}), served: make(chan struct{}),
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok {
		s.exposed = !a.IP.IsLoopback()
	}
	s.http = &http.Server{
		Handler: guard(host, s.routes()), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: silent(),
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // its end is Close's
	}()
	return s, nil
}

// CheckAddr says why Serve could not listen on addr now, nil where it could. It
// leaves nothing behind.
func CheckAddr(addr string) error {
	listener, _, err := listen(addr)
	if err != nil {
		return err
	}
	return listener.Close()
}

// listen takes addr and gives the host that it names.
func listen(addr string) (listener net.Listener, host string, err error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, "", err
	}
	listener, err = net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, "", fmt.Errorf("%s: the port is in use; choose another, or port 0 for a free one", addr)
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w; give an address of this machine, such as 127.0.0.1:0", addr, err)
	}
	return listener, host, nil
}

// splitAddr reads host:port; a host or port alone is taken where it is plain
// which of both is meant.
func splitAddr(addr string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil {
		return "", "", fmt.Errorf("%q is not host:port; write 127.0.0.1:8080, or 127.0.0.1:0 for a free port", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "", "", fmt.Errorf("%q: the port is not a number from 0 to 65535", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port, nil
}

// URL is where the page is. An address that means all interfaces is given as
// loopback.
func (s *Server) URL() string {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + s.listener.Addr().String() + "/"
	}
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port)) + "/"
}

// Exposed says that others than this machine may reach the server.
func (s *Server) Exposed() bool { return s.exposed }

// Close ends the server. Pages that are open hear the board's last word first;
// it takes three seconds at most and may be called again.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.ended)
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
	})
	<-s.served
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic("live: " + err.Error()) // the directory is part of the binary
	}
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /events", s.stream)
	mux.Handle("GET /metrics", newMetrics(s.board))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
