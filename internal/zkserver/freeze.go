package zkserver

import "sync"

// Freeze makes the server stand still, as SIGSTOP does a process: its sockets go
// on taking what clients send, but nothing is executed, answered or expired. It
// returns when the request under way is done. thaw lets the server go on, with
// the time that has passed; it may be called again. Close ends a frozen server,
// too.
func (s *Server) Freeze() (thaw func()) {
	held := make(chan struct{})
	select {
	case s.freeze <- held:
	case <-s.stop:
	}
	return sync.OnceFunc(func() { close(held) })
}

// stand blocks the core until held is closed or the server stops.
func (c *core) stand(held <-chan struct{}) {
	select {
	case <-held:
	case <-c.srv.stop:
	}
}
