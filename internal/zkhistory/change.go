package zkhistory

import (
	"strings"

	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
	"kbench/zkcontroller/zk"
)

// Change is one write of a znode that matters, its end included.
type Change struct {
	Zxid    int64  `json:"z"`
	Path    string `json:"p"`
	Data    string `json:"d,omitempty"`
	Version int32  `json:"v,omitempty"` // of the data, after the write
	New     bool   `json:"new,omitempty"`
	Gone    bool   `json:"gone,omitempty"` // deleted, or ended with its session
}

// Source yields every change of a ZooKeeper that began empty, in the order of
// zxids.
type Source func(yield func(Change) error) error

// defaultBrokerConfig holds what all brokers have by dynamic configuration.
var defaultBrokerConfig = zk.EntityConfigPath("brokers", "<default>")

// matters reports whether the judge looks at a znode.
func matters(path string) bool {
	switch path {
	case zk.ControllerEpochPath, zk.ProducerIDBlockPath, defaultBrokerConfig:
		return true
	}
	if _, ok := zk.PartitionOfPath(path); ok {
		return true
	}
	if _, ok := zk.TopicOfPath(path); ok {
		return true
	}
	if _, ok := zk.BrokerOfPath(path); ok {
		return true
	}
	topic, ok := strings.CutPrefix(path, zk.EntityConfigPath(zk.TopicConfigs, ""))
	return ok && !strings.Contains(topic, "/")
}

// tracker makes changes of transactions that succeeded. It keeps the versions of
// the znodes that matter, and who owns the ephemeral ones.
type tracker struct {
	yield    func(Change) error
	versions map[string]int32
	owned    map[int64]map[string]bool // by session
	owner    map[string]int64
}

func newTracker(yield func(Change) error) *tracker {
	return &tracker{yield: yield, versions: map[string]int32{}, owned: map[int64]map[string]bool{}, owner: map[string]int64{}}
}

func (t *tracker) apply(x *datatree.Txn) error {
	if x.Kind == datatree.CloseSession {
		return t.closeSession(x)
	}
	for i := range x.Changes {
		if err := t.change(x, &x.Changes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracker) change(x *datatree.Txn, c *proto.Change) error {
	if !matters(c.Path) {
		return nil
	}
	switch c.Op {
	case proto.OpCheck, proto.OpSetACL:
		return nil
	case proto.OpDelete:
		return t.gone(x.Zxid, c.Path)
	case proto.OpSetData:
		t.versions[c.Path]++
		return t.yield(Change{Zxid: x.Zxid, Path: c.Path, Data: string(c.Data), Version: t.versions[c.Path]})
	}
	t.versions[c.Path] = 0
	if c.Flags&proto.Ephemeral != 0 {
		if t.owned[x.Session] == nil {
			t.owned[x.Session] = map[string]bool{}
		}
		t.owned[x.Session][c.Path], t.owner[c.Path] = true, x.Session
	}
	return t.yield(Change{Zxid: x.Zxid, Path: c.Path, Data: string(c.Data), New: true})
}

func (t *tracker) gone(zxid int64, path string) error {
	if s, ok := t.owner[path]; ok {
		delete(t.owned[s], path)
		delete(t.owner, path)
	}
	delete(t.versions, path)
	return t.yield(Change{Zxid: zxid, Path: path, Gone: true})
}

func (t *tracker) closeSession(x *datatree.Txn) error {
	for path := range t.owned[x.Session] { // of one session: brokers, each for itself
		if err := t.gone(x.Zxid, path); err != nil {
			return err
		}
	}
	delete(t.owned, x.Session)
	return nil
}
