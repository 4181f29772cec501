package zkserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"kbench/internal/zkserver/proto"
	"kbench/internal/zkserver/txnlog"
)

// Config says how a server runs. The zero value of a field means its default.
type Config struct {
	// Listen is the TCP address, "127.0.0.1:0" by default. Port 0 picks a free
	// one; see Server.Addr.
	Listen string
	// Listener is used instead of Listen if set; the server closes it.
	Listener net.Listener
	// TLS encrypts every connection; nil leaves them plain. A client whose
	// certificate was verified has its subject as an identity of scheme x509.
	TLS *tls.Config
	// DataDir holds logs and snapshots and is made if missing. It is required
	// and belongs to one server at a time.
	DataDir string
	// FS is the file layer, the operating system's by default.
	FS txnlog.FS
	// Clock tells the time and wakes, the system's by default.
	Clock Clock
	// TickTime is ZooKeeper's basic unit, 2 s by default, at least 1 ms.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what clients negotiate, 2
	// and 20 ticks by default.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// MaxBuffer is jute.maxbuffer: the largest request in bytes, 1 MiB - 1 by
	// default. A larger one costs the client its connection.
	MaxBuffer int
	// MaxConnections bounds open connections, 10,000 by default.
	MaxConnections int
	// MaxInFlight bounds the unanswered requests of a connection, 1,000 by
	// default as globalOutstandingLimit; beyond it the server stops reading.
	MaxInFlight int
	// MaxReplyBacklog bounds the bytes a client leaves unread, 256 MiB by
	// default; beyond it the server drops the connection.
	MaxReplyBacklog int
	// CompactAt is the size of the log in bytes at which it is rolled and
	// compacted to a snapshot, 512 MiB by default.
	CompactAt int64
	// NoSync acknowledges without waiting for the disk, for tests of speed.
	NoSync bool
	// Logger is slog's default logger if nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.DataDir == "" {
		return c, errors.New("zkserver: DataDir is empty; name a directory for logs and snapshots")
	}
	set(&c.Listen, "127.0.0.1:0")
	set(&c.TickTime, 2*time.Second)
	set(&c.MinSessionTimeout, 2*c.TickTime)
	set(&c.MaxSessionTimeout, 20*c.TickTime)
	set(&c.MaxBuffer, proto.DefaultMaxBuffer)
	set(&c.MaxConnections, 10_000)
	set(&c.MaxInFlight, 1_000)
	set(&c.MaxReplyBacklog, 256<<20)
	set(&c.CompactAt, 512<<20)
	if c.FS == nil {
		c.FS = txnlog.OS()
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, c.check()
}

func (c Config) check() error {
	switch {
	case c.TickTime < time.Millisecond:
		return fmt.Errorf("zkserver: TickTime %v is under 1ms", c.TickTime)
	case c.MinSessionTimeout < time.Millisecond || c.MaxSessionTimeout < c.MinSessionTimeout:
		return fmt.Errorf("zkserver: session time-outs %v to %v are no range of at least 1ms", c.MinSessionTimeout, c.MaxSessionTimeout)
	case c.MaxSessionTimeout.Milliseconds() > 1<<31-1:
		return fmt.Errorf("zkserver: MaxSessionTimeout %v is over 24 days, which the protocol cannot carry", c.MaxSessionTimeout)
	case c.MaxBuffer < 1024 || c.MaxBuffer > txnlog.MaxRecordBytes/2:
		return fmt.Errorf("zkserver: MaxBuffer %d is not between 1024 and %d bytes", c.MaxBuffer, txnlog.MaxRecordBytes/2)
	case c.MaxConnections < 1 || c.MaxInFlight < 1 || c.MaxReplyBacklog < 1 || c.CompactAt < 1:
		return errors.New("zkserver: a bound is negative; leave it 0 for its default")
	}
	return nil
}

func set[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// Clock is the server's time. A test's clock calls functions of AfterFunc from
// a goroutine of its own or from its own Advance; they do not block.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
