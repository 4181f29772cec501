package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// The protocol's numbers for a read of many znodes (ZooKeeper 3.6,
// ZOOKEEPER-3402).
const (
	opGetData    = 4
	opMultiRead  = 22
	opError      = -1 // of one read in a reply
	codeNoNode   = -101
	codeUnknown  = -6 // the server does not know the operation
	statSize     = 68
	multiHeader  = 9 // type, whether it is the end, error
	replyCodeEnd = 12
)

// ReadMany reads n znodes in requests of at most size of them, as many requests
// outstanding as Pipeline has, and is Pipeline over Get in all else. No watch
// is armed: where one is registered, and with a server older than 3.6, every
// znode is read by a request of its own.
func (s *Session) ReadMany(ctx context.Context, n, size int, path func(i int) string, done func(i int, r Result)) error {
	size = max(size, 1)
	return s.each(ctx, (n+size-1)/size, func(c int) error {
		lo, hi := c*size, min(n, (c+1)*size)
		if hi-lo > 1 && !s.readsSingly.Load() {
			paths := make([]string, 0, hi-lo)
			for i := lo; i < hi && !s.watched(path(i), false); i++ {
				paths = append(paths, path(i))
			}
			if len(paths) == hi-lo {
				res, err := s.readTogether(ctx, paths)
				if err != nil {
					return err
				}
				for k, r := range res {
					done(lo+k, r)
				}
				if res != nil {
					return nil
				}
			}
		}
		for i := lo; i < hi; i++ {
			o := Get(path(i))
			r := s.do(ctx, &o)
			if ends(ctx, r.Err) {
				return r.Err
			}
			done(i, r)
		}
		return nil
	})
}

// readTogether reads paths in one request, again where the connection broke; nil
// where the server does not know how.
func (s *Session) readTogether(ctx context.Context, paths []string) ([]Result, error) {
	body := make([]byte, 0, len(paths)*(len(paths[0])+16)+multiHeader)
	for _, p := range paths {
		body = append(binary.BigEndian.AppendUint32(body, opGetData), 0, 0xff, 0xff, 0xff, 0xff)
		body = binary.BigEndian.AppendUint32(body, uint32(len(p)))
		body = append(append(body, p...), 0)
	}
	body = append(body, 0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff)
	if len(body) > s.cfg.MaxRequestBytes {
		return nil, nil
	}
	for { // ends with the session or ctx
		if err := s.pass(ctx); err != nil {
			return nil, err
		}
		reply, err := s.link.request(opMultiRead, body)
		<-s.flight
		s.requests.Add(1)
		s.reqBytes.Add(int64(len(body)))
		if errors.Is(err, errCut) { // the library finds out in a moment
			s.link.pause(firstPause)
			continue
		}
		if err != nil {
			return nil, err
		}
		if code := int32(binary.BigEndian.Uint32(reply[8:])); code != 0 {
			if code == codeUnknown {
				s.readsSingly.Store(true)
			}
			return nil, nil // each on its own, which tells what is wrong
		}
		return decodeReads(reply[replyCodeEnd:], len(paths))
	}
}

// decodeReads takes a reply apart; it must hold n results.
func decodeReads(b []byte, n int) ([]Result, error) {
	out := make([]Result, 0, n)
	bad := func() ([]Result, error) {
		return nil, fmt.Errorf("zk: a read of %d znodes was answered by what is none after %d of them", n, len(out))
	}
	for len(b) >= multiHeader {
		kind, end := int32(binary.BigEndian.Uint32(b)), b[4] != 0
		b = b[multiHeader:]
		if end {
			if len(out) != n {
				break
			}
			return out, nil
		}
		if len(b) < 4 || len(out) == n {
			break
		}
		first := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		switch {
		case kind == opError && first == codeNoNode:
			out = append(out, Result{Err: ErrNoNode})
		case kind == opError:
			out = append(out, Result{Err: fmt.Errorf("zk: one of many reads failed with code %d", first)})
		case kind == opGetData:
			size := max(int(first), 0) // -1 is no data
			if len(b) < size+statSize {
				return bad()
			}
			r := Result{Data: append([]byte(nil), b[:size]...)}
			r.rawStat(b[size:])
			out = append(out, r)
			b = b[size+statSize:]
		default:
			return bad()
		}
	}
	return bad()
}

// rawStat takes what stat does from the wire's form: czxid, mzxid, ctime, mtime,
// three versions, owner, and more.
func (r *Result) rawStat(b []byte) {
	r.Czxid = int64(binary.BigEndian.Uint64(b))
	r.CtimeMs = int64(binary.BigEndian.Uint64(b[16:]))
	r.Version = int32(binary.BigEndian.Uint32(b[32:]))
	r.Owner = int64(binary.BigEndian.Uint64(b[44:]))
}

// request sends one of the caller's own on the current connection.
func (l *link) request(opcode int32, body []byte) ([]byte, error) {
	l.mu.Lock()
	w := l.cur
	l.mu.Unlock()
	if w == nil {
		return nil, errCut
	}
	return w.request(opcode, body)
}
