package zk

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

const (
	// firstPause and maxPause pace attempts to connect once every server was
	// tried: soon enough not to show in a recovery, slow enough not to spin.
	firstPause = 10 * time.Millisecond
	maxPause   = 200 * time.Millisecond
	// rearmWait bounds how long replies are held back after a reconnect until
	// the watches are sent again; only a session whose registered paths were
	// never read waits for all of it.
	rearmWait = 500 * time.Millisecond
)

// link is the library's host provider and dialer: it chooses servers without
// the library's sleep of 1 s, paces attempts, lets no new connection begin
// once the session is dead, and orders what follows a reconnect.
type link struct {
	servers []string
	dialFn  func(network, addr string, timeout time.Duration) (net.Conn, error)
	dead    <-chan struct{}

	mu       sync.Mutex
	next     int
	tried    int // attempts since the last success
	lastErr  error
	refused  error // why the last login failed; nil once one succeeded
	refusals int   // logins that failed in a row
	cur      *wire
}

func newLink(cfg *Config, dead <-chan struct{}) *link {
	return &link{dialFn: cfg.Dial, dead: dead}
}

// Init is the library's call with the list of servers, shuffled.
func (l *link) Init(servers []string) error {
	l.servers = servers
	return nil
}

// Len is part of the library's HostProvider.
func (l *link) Len() int { return len(l.servers) }

// Next gives the next server. retryStart makes the library sleep and look
// whether it was closed, so it is true only for a dead session.
func (l *link) Next() (server string, retryStart bool) {
	l.mu.Lock()
	server = l.servers[l.next%len(l.servers)]
	l.next++
	tried := l.tried
	l.tried++
	l.mu.Unlock()
	if round := tried / len(l.servers); round > 0 && tried%len(l.servers) == 0 {
		l.pause(min(firstPause<<min(round-1, 10), maxPause))
	}
	select {
	case <-l.dead:
		return server, true
	default:
		return server, false
	}
}

func (l *link) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.dead:
	}
}

// Connected is the library's word that a session is established.
func (l *link) Connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried, l.lastErr = 0, nil
	l.next-- // after a loss try the same server first: it is the likely one to be there
}

func (l *link) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	select {
	case <-l.dead:
		return nil, ErrExpired
	default:
	}
	c, err := l.dialFn(network, addr, timeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.lastErr = err
		return nil, err
	}
	l.cur = newWire(c)
	return l.cur, nil
}

// established tells the current connection that the session is up on it.
// rearm says that watches are going to be sent again: until they are, no reply
// may be read, because the library re-arms them with the zxid of the last
// reply and would miss every change before it.
func (l *link) established(rearm bool) {
	l.mu.Lock()
	w := l.cur
	l.mu.Unlock()
	if w != nil {
		w.begin(rearm)
	}
}

// login logs in on the connection that was just opened.
func (l *link) login(as Access) error {
	l.mu.Lock()
	w := l.cur
	l.mu.Unlock()
	if w == nil {
		return net.ErrClosed
	}
	if err := w.SetDeadline(time.Now().Add(authWait)); err != nil {
		return err
	}
	if err := as.login(w.Conn); err != nil {
		return err
	}
	l.mu.Lock()
	l.refused, l.refusals = nil, 0
	l.mu.Unlock()
	return w.SetDeadline(time.Time{})
}

// failed notes why there is no session yet, counts it, and paces the next attempt:
// the library takes the connection for a success.
func (l *link) failed(err error) (inARow int) {
	l.mu.Lock()
	l.refused = err
	l.refusals++
	inARow = l.refusals
	l.mu.Unlock()
	l.pause(maxPause)
	return inARow
}

// cut closes the connection without a farewell.
func (l *link) cut() {
	l.mu.Lock()
	w := l.cur
	l.mu.Unlock()
	if w != nil {
		w.Close()
	}
}

// why says what has kept a session from beginning.
func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lastErr != nil && l.refused != nil:
		return fmt.Errorf("%w; and before: %w", l.lastErr, l.refused)
	case l.lastErr != nil:
		return l.lastErr
	case l.refused != nil:
		return l.refused
	}
	return errNoSession
}

// errNoSession is why there is none where nothing else is known.
var errNoSession = errors.New("it grants no session")

// slogPrinter takes the library's lines; they are errors it retries itself.
type slogPrinter struct{ log *slog.Logger }

func (p slogPrinter) Printf(format string, args ...any) {
	p.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}
