package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"kbench/harness/netfault"
)

// maxLine bounds a request: a cut from netfault.MaxPeers peers is far shorter.
const maxLine = 1 << 20

// server answers the requests of one client.
type server struct {
	ear *ear
	net network // one request at a time changes it

	mu  sync.Mutex // of out
	out *json.Encoder
}

// Serve obeys the requests of in and answers to out until in ends, and undoes
// what it did. Probes run side by side; faults are made in the order asked.
func Serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	e, err := listen(ctx)
	if err != nil {
		cancel()
		return err
	}
	s := &server{ear: e, out: json.NewEncoder(out)}
	var probes sync.WaitGroup
	defer func() {
		cancel()
		probes.Wait()
		err = errors.Join(err, e.close(), s.net.apply(netfault.Program{}))
	}()
	s.answer(reply{Here: e.here})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if r.Do == verbSet {
			s.answer(s.do(ctx, r))
			continue
		}
		probes.Go(func() { s.answer(s.do(ctx, r)) })
	}
	return lines.Err()
}

func (s *server) answer(r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(r) // a client that is gone ends the input too
}

func (s *server) do(ctx context.Context, r request) reply {
	out := reply{ID: r.ID}
	var err error
	switch r.Do {
	case verbSet:
		var p netfault.Program
		if p, err = netfault.Compile(r.Faults); err == nil {
			if err = s.net.apply(p); err != nil {
				err = errors.Join(err, s.net.apply(netfault.Program{})) // all or nothing
			}
		}
	case verbReach:
		ctx, cancel := context.WithTimeout(ctx, r.Within)
		defer cancel()
		out.Took, err = push(ctx, r.To, r.Bytes)
	case verbSend:
		err = s.ear.send(ctx, r.To, r.Token, r.Count)
	case verbHeard:
		out.Count = s.ear.heard(r.Token)
	default:
		err = fmt.Errorf("request %q is not known", r.Do)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}
