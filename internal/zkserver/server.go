package zkserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/txnlog"
)

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	cfg   Config
	log   *slog.Logger
	ln    net.Listener
	lock  dirLock
	start time.Time
	queue *queue
	core  *core
	stats stats

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
	err     error // the fault that stopped the server

	freeze   chan chan struct{} // of Freeze to the core
	stop     chan struct{}      // closed by Close or a fault
	stopOnce sync.Once
	served   atomic.Bool
	core1    sync.WaitGroup // core and sync goroutines
	connWG   sync.WaitGroup // readers and writers
	done     chan struct{}  // closed when all goroutines have ended
}

// stats are for the four-letter words.
type stats struct {
	received, sent atomic.Int64
	zxid           atomic.Int64
	nodes, bytes   atomic.Int64
	watches        atomic.Int64
	syncs          atomic.Int64
}

// New recovers the data directory, binds the address and starts the server's
// inner goroutines; Serve takes connections.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, start: cfg.Clock.Now(), queue: newQueue(),
		conns: map[*conn]struct{}{}, freeze: make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := s.recover(); err != nil {
		return nil, err
	}
	if s.ln = cfg.Listener; s.ln == nil {
		if s.ln, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, errors.Join(fmt.Errorf("zkserver: %w", err), s.core.log.Close(), s.lock.release())
		}
	}
	s.core1.Add(2)
	go s.core.run()
	go s.core.syncLoop()
	return s, nil
}

// recover takes the data directory and rebuilds the state from it.
func (s *Server) recover() error {
	if err := s.cfg.FS.MkdirAll(s.cfg.DataDir); err != nil {
		return fmt.Errorf("zkserver: make data directory: %w", err)
	}
	var err error
	if s.cfg.FS == txnlog.OS() {
		if s.lock, err = lockDir(filepath.Join(s.cfg.DataDir, "lock")); err != nil {
			return err
		}
	}
	began := time.Now()
	tree, log, rec, err := txnlog.Open(s.cfg.FS, s.cfg.DataDir)
	if err != nil {
		return errors.Join(fmt.Errorf("zkserver: %w", err), s.lock.release())
	}
	if rec.TornBytes > 0 {
		s.log.Warn("torn tail of the transaction log cut off: it was never acknowledged", "bytes", rec.TornBytes)
	}
	s.log.Info("recovered", "zxid", tree.Zxid(), "znodes", tree.Nodes(), "sessions", len(tree.SessionIDs()),
		"snapshot_zxid", rec.SnapshotZxid, "transactions", rec.Txns, "took", time.Since(began))
	s.core = newCore(s, tree, log)
	return nil
}

// Addr is the address the server listens on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// now is the server's clock in ns since its start.
func (s *Server) now() int64 { return int64(s.cfg.Clock.Now().Sub(s.start)) }

// Serve takes connections until Close, then gives nil, or until a fault of the
// disk, which it returns: a server that cannot make writes durable stops.
func (s *Server) Serve() error {
	if s.served.Swap(true) {
		return errors.New("zkserver: Serve is called twice")
	}
	return s.accept()
}

func (s *Server) accept() error {
	var id datatree.ConnID
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if s.stopping() {
				<-s.done
				return s.fault()
			}
			if passing(err) {
				s.log.Warn("connection not accepted", "error", err)
				select {
				case <-s.stop:
				case <-time.After(50 * time.Millisecond):
				}
				continue
			}
			s.fail(fmt.Errorf("accept: %w", err))
			<-s.done
			return s.fault()
		}
		id++
		s.admit(newConn(s, id, nc))
	}
}

// passing says that accepting may work again later: too many open files, or a
// client that was gone before it was accepted.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// admit starts a connection's goroutines unless there are too many.
func (s *Server) admit(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.conns) >= s.cfg.MaxConnections {
		s.log.Warn("connection refused", "remote", c.name, "open", len(s.conns), "limit", s.cfg.MaxConnections)
		_ = c.nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.connWG.Add(2)
	go func() { defer s.connWG.Done(); c.read() }()
	go func() { defer s.connWG.Done(); c.write() }()
}

// forget is called by the core when a connection has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (s *Server) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail stops the server for good.
func (s *Server) fail(err error) {
	s.log.Error("server stops", "error", err)
	s.mu.Lock()
	if s.err == nil {
		s.err = fmt.Errorf("zkserver: %w", err)
	}
	s.mu.Unlock()
	s.shutdown()
}

// shutdown begins the end without waiting for it.
func (s *Server) shutdown() {
	s.stopOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		close(s.stop)
		_ = s.ln.Close()
		go s.finish()
	})
}

// finish joins every goroutine. Requests being executed are synced; their
// replies go if the connection still takes them.
func (s *Server) finish() {
	s.core1.Wait()
	s.mu.Lock()
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		c.close()
	}
	s.connWG.Wait()
	err := errors.Join(s.core.log.Close(), s.lock.release())
	s.mu.Lock()
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("zkserver: close: %w", err)
	}
	s.mu.Unlock()
	close(s.done)
}

// Close stops the server and waits for its goroutines. Sessions stay open and
// go on at the next start with their time-outs armed anew. It is idempotent
// and returns the fault that stopped the server, if one did.
func (s *Server) Close() error {
	s.shutdown()
	<-s.done
	return s.fault()
}
