package zk

import (
	"errors"
	"fmt"

	gozk "github.com/go-zookeeper/zk"
)

// exec sends o once and waits for its reply.
func (s *Session) exec(o *Op) Result {
	switch o.kind {
	case opGet, opExists, opChildren:
		return s.read(o)
	}
	if o.fence != NoFence {
		return s.fenced(o)
	}
	return s.write(o)
}

func (s *Session) read(o *Op) (r Result) {
	var stat *gozk.Stat
	switch o.kind {
	case opGet:
		if s.watched(o.path, false) {
			r.Data, stat, _, r.Err = s.conn.GetW(o.path)
		} else {
			r.Data, stat, r.Err = s.conn.Get(o.path)
		}
	case opExists:
		if s.watched(o.path, false) {
			r.Exists, stat, _, r.Err = s.conn.ExistsW(o.path)
		} else {
			r.Exists, stat, r.Err = s.conn.Exists(o.path)
		}
	default:
		if s.watched(o.path, true) {
			r.Children, stat, _, r.Err = s.conn.ChildrenW(o.path)
		} else {
			r.Children, stat, r.Err = s.conn.Children(o.path)
		}
	}
	if r.Err == nil {
		r.stat(stat)
	}
	return r
}

func (s *Session) write(o *Op) (r Result) {
	switch o.kind {
	case opCreate:
		r.Created, r.Err = s.conn.Create(o.path, o.data, o.flags, s.cfg.Access.acl(o.path))
	case opSet:
		var stat *gozk.Stat
		if stat, r.Err = s.conn.Set(o.path, o.data, o.version); r.Err == nil {
			r.stat(stat)
		}
	default:
		r.Err = s.conn.Delete(o.path, o.version)
	}
	return r
}

// fenced sends check and write as one multi.
func (s *Session) fenced(o *Op) (r Result) {
	res, err := s.conn.Multi(&gozk.CheckVersionRequest{Path: ControllerEpochPath, Version: o.fence}, o.request(s.cfg.Access))
	if len(res) != 2 {
		if err == nil {
			err = fmt.Errorf("zk: multi of 2 operations answered with %d", len(res))
		}
		return Result{Err: err}
	}
	switch {
	case errors.Is(res[0].Error, ErrBadVersion), errors.Is(res[0].Error, ErrNoNode):
		r.Err = ErrFenced
	case err != nil:
		r.Err = pickError(res[1].Error, err)
	default:
		r.Created = res[1].String
		r.stat(res[1].Stat)
	}
	return r
}

// pickError prefers the write's own error to the multi's.
func pickError(own, multi error) error {
	if own != nil && !errors.Is(own, gozk.ErrUnknown) {
		return own
	}
	return multi
}

func (o *Op) request(as Access) any {
	switch o.kind {
	case opCreate:
		return &gozk.CreateRequest{Path: o.path, Data: o.data, Acl: as.acl(o.path), Flags: o.flags}
	case opSet:
		return &gozk.SetDataRequest{Path: o.path, Data: o.data, Version: o.version}
	case opDelete:
		return &gozk.DeleteRequest{Path: o.path, Version: o.version}
	case opCheck:
		return &gozk.CheckVersionRequest{Path: o.path, Version: o.version}
	}
	panic("zk: a read cannot be part of a multi")
}
