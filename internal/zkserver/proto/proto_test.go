package proto

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"kbench/internal/fuzzing"
)

// TestHugeCounts: what a frame cannot hold is an error before anything of that
// size is allocated.
func TestHugeCounts(t *testing.T) {
	huge := AppendInt32(nil, math.MaxInt32)
	for name, read := range map[string]func(*Reader){
		"buffer":  func(r *Reader) { r.Buffer() },
		"strings": func(r *Reader) { r.Strings() },
		"acls":    func(r *Reader) { r.ACLs() },
	} {
		allocs := testing.AllocsPerRun(1, func() {
			r := NewReader(huge)
			read(r)
			if !errors.Is(r.Err(), ErrShort) {
				t.Errorf("%s: %v", name, r.Err())
			}
		})
		if allocs > 10 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
	r := NewReader(AppendInt32(nil, -5))
	if r.Buffer(); r.Err() == nil {
		t.Error("a buffer of -5 bytes was read")
	}
}

func TestNullIsNotEmpty(t *testing.T) {
	for _, v := range [][]byte{nil, {}, []byte("x")} {
		got := NewReader(AppendBuffer(nil, v)).Buffer()
		if !bytes.Equal(got, v) || (got == nil) != (v == nil) {
			t.Errorf("%#v came back as %#v", v, got)
		}
	}
}

// TestOldConnect: clients before 3.4 send no flag for read-only sessions.
func TestOldConnect(t *testing.T) {
	b := AppendInt64(AppendInt32(nil, 0), 7)
	b = AppendBuffer(AppendInt64(AppendInt32(b, 2000), 9), make([]byte, 16))
	c, err := DecodeConnect(b)
	if err != nil || c.HasReadOnly || c.LastZxidSeen != 7 || c.TimeoutMs != 2000 || c.SessionID != 9 {
		t.Errorf("%+v %v", c, err)
	}
	if c, err = DecodeConnect(append(b, 1)); err != nil || !c.HasReadOnly || !c.ReadOnly {
		t.Errorf("%+v %v", c, err)
	}
	with, without := AppendConnectResponse(nil, 1, 2, b[:16], true), AppendConnectResponse(nil, 1, 2, b[:16], false)
	if len(with) != len(without)+1 {
		t.Errorf("the flag is answered in %d bytes, its absence in %d", len(with), len(without))
	}
}

// FuzzDecodeRequest: whatever a client sends is read or refused, in memory bounded
// by its size.
func FuzzDecodeRequest(f *testing.F) {
	head := func(op Op) []byte { return AppendInt32(AppendInt32(nil, 1), int32(op)) }
	create := AppendInt32(AppendACLs(AppendBuffer(AppendString(nil, "/a"), []byte("x")), []ACL{{31, "world", "anyone"}}), 1)
	f.Add(append(head(OpCreate), create...))
	f.Add(append(AppendMultiHeader(head(OpMulti), OpCreate, false, -1), AppendMultiHeader(create, OpError, true, -1)...))
	f.Add(AppendInt32(AppendInt32(AppendInt32(AppendInt64(head(OpSetWatches), 0), 0), 0), 1<<30))
	f.Add(AppendBool(AppendString(head(OpGetData), "/a"), true))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzing.Within(t, len(b), 64, func() {
			_, _ = DecodeRequest(b)
			_, _ = DecodeConnect(b)
		})
	})
}
