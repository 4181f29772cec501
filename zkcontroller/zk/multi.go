package zk

import (
	"context"

	gozk "github.com/go-zookeeper/zk"
)

// multi runs all ops or none. It gives the results where all succeeded, else
// the first error; resent as in Result.
func (s *Session) multi(ctx context.Context, ops ...Op) (res []Result, resent bool, err error) {
	reqs := make([]any, len(ops))
	size := 0
	for i := range ops {
		reqs[i] = ops[i].request(s.cfg.Access)
		size += ops[i].size()
	}
	if size > s.cfg.MaxRequestBytes {
		return nil, false, &TooLargeError{Path: ops[0].path, Size: size, Limit: s.cfg.MaxRequestBytes}
	}
	for { // ends with the session or ctx
		if err := s.pass(ctx); err != nil {
			return nil, resent, err
		}
		mr, err := s.conn.Multi(reqs...)
		<-s.flight
		s.requests.Add(1)
		s.reqBytes.Add(int64(size))
		if lost(err) {
			resent = true
			continue
		}
		if err != nil {
			return nil, resent, multiError(mr, err)
		}
		res = make([]Result, len(mr))
		for i := range mr {
			res[i].Created = mr[i].String
			res[i].stat(mr[i].Stat)
		}
		return res, resent, nil
	}
}

// multiError gives the error of the operation that failed: the server marks
// those before it as fine and those after it as not run.
func multiError(mr []gozk.MultiResponse, err error) error {
	for _, r := range mr {
		if r.Error != nil {
			return pickError(r.Error, err)
		}
	}
	return err
}
