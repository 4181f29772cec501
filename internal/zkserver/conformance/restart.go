package conformance

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"kbench/internal/zkserver/proto"
)

// restartSessions: sessions and their ephemerals outlive a SIGKILL of the
// store, with the whole time-out before them again; a client that does not
// come back still expires.
func restartSessions(t *testing.T, s Store) {
	r := root(t, client(t, s))
	back := ConnectRaw(t, s.addr(), 20*s.Tick)
	lost := ConnectRaw(t, s.addr(), 4*s.Tick)
	back.Do(t, proto.OpCreate, Create(r+"/back", []byte("x"), proto.Ephemeral))
	lost.Do(t, proto.OpCreate, Create(r+"/lost", nil, proto.Ephemeral))
	closed := ConnectRaw(t, s.addr(), 20*s.Tick)
	closed.Do(t, proto.OpCreate, Create(r+"/closed", nil, proto.Ephemeral))
	closed.Do(t, proto.OpCloseSession, nil)
	s.Restart(t)
	again, ok := back.Reattach(t, s.addr(), back.Password)
	if !ok {
		t.Fatal("the session did not survive")
	}
	m := again.Do(t, proto.OpGetData, PathWatch(r+"/back", false))
	data, st := m.Body.Buffer(), ReadStat(m.Body)
	if string(data) != "x" || st.EphemeralOwner != back.Session {
		t.Errorf("ephemeral after the restart: %q %+v %v", data, st, m.Code)
	}
	if m := again.Do(t, proto.OpExists, PathWatch(r+"/closed", false)); m.Code != proto.NoNode {
		t.Errorf("ephemeral of a closed session: %v", m.Code)
	}
	eventually(t, 6*s.Tick+30*time.Second, "the session that stays away expires", func() bool {
		return again.Do(t, proto.OpExists, PathWatch(r+"/lost", false)).Code == proto.NoNode
	})
	if _, ok := closed.Reattach(t, s.addr(), closed.Password); ok {
		t.Error("a closed session is open again")
	}
}

// restartWrites kills the store under load, several times: every write that
// was acknowledged is there with its zxid, and none is there twice.
func restartWrites(t *testing.T, s Store) {
	r := root(t, client(t, s))
	type ack struct {
		n    int
		zxid int64
	}
	var acked []ack
	next := 0
	for round := range 3 {
		raw := ConnectRaw(t, s.addr(), 20*s.Tick)
		var sent atomic.Int64
		start, stopped, drained := next, make(chan struct{}), make(chan struct{})
		window := make(chan struct{}, 1000) // in flight, at most
		go func() {                         // writes until the connection breaks
			defer close(stopped)
			for n := start; ; n++ {
				select {
				case window <- struct{}{}:
				case <-drained:
					return
				}
				b, _ := raw.Append(nil, proto.OpMulti, Multi(Sub{proto.OpCreate, Create(fmt.Sprintf("%s/%d", r, n), nil, 0)}))
				sent.Store(int64(n + 1))
				if _, err := raw.nc.Write(b); err != nil {
					return
				}
			}
		}()
		got := 0
		for ; got < 2000; got++ {
			m := raw.Next(t)
			acked = append(acked, ack{start + got, m.Zxid})
			<-window
		}
		go func() { // acknowledgements that race with the kill count too
			defer close(drained)
			for ; ; got++ {
				m, err := raw.TryNext()
				if err != nil {
					return
				}
				acked = append(acked, ack{start + got, m.Zxid})
				<-window
			}
		}()
		s.Restart(t)
		<-drained
		raw.Close()
		<-stopped
		next = int(sent.Load())
		t.Logf("round %d: %d sent, %d acknowledged", round, next-start, got)
	}
	raw := ConnectRaw(t, s.addr(), 20*s.Tick)
	for i := 0; i < len(acked); i += 500 {
		part := acked[i:min(i+500, len(acked))]
		var b []byte
		for _, a := range part {
			b, _ = raw.Append(b, proto.OpExists, PathWatch(fmt.Sprintf("%s/%d", r, a.n), false))
		}
		raw.Write(t, b)
		for _, a := range part {
			m := raw.Next(t)
			if m.Code != proto.OK {
				t.Fatalf("acknowledged write %d is lost: %v", a.n, m.Code)
			}
			if st := ReadStat(m.Body); st.Czxid != a.zxid {
				t.Fatalf("write %d acknowledged at zxid %d has czxid %d", a.n, a.zxid, st.Czxid)
			}
		}
	}
}
