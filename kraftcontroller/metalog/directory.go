package metalog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kbench/kafka"
)

const (
	metaPropertiesName = "meta.properties"
	lockName           = ".lock"
	quorumStateName    = "quorum-state"
)

// PartitionDir is the name of the log's directory in a data directory.
const PartitionDir = kafka.MetadataTopic + "-0"

// MetaProperties says whose a data directory is (meta.properties version 1).
type MetaProperties struct {
	ClusterID   string
	NodeID      kafka.BrokerID
	DirectoryID kafka.UUID // made at random by the first OpenDirectory
}

// Directory is a data directory in use by this process.
type Directory struct {
	fs   FS
	path string
	meta MetaProperties
	lock io.Closer
}

// OpenDirectory locks the data directory for this process and checks that it
// belongs to that cluster and node, or makes it theirs where it is new. A
// directory of another cluster or node (ErrForeign), or in use (ErrLocked), is
// refused and not touched.
func OpenDirectory(fs FS, path, clusterID string, nodeID kafka.BrokerID) (*Directory, error) {
	if err := fs.MkdirAll(path); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, Cured(err))
	}
	lock, err := fs.Lock(filepath.Join(path, lockName))
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, Cured(err))
	}
	d := &Directory{fs: fs, path: path, lock: lock}
	if err := d.claim(clusterID, nodeID); err != nil {
		return nil, errors.Join(Cured(err), lock.Close())
	}
	return d, nil
}

func (d *Directory) claim(clusterID string, nodeID kafka.BrokerID) error {
	file := filepath.Join(d.path, metaPropertiesName)
	b, err := d.fs.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return d.format(file, clusterID, nodeID)
	}
	if err != nil {
		return err
	}
	if d.meta, err = DecodeMetaProperties(b); err != nil {
		return damagedMeta(file, err)
	}
	if d.meta.ClusterID != clusterID {
		return fmt.Errorf("%s %w: it belongs to cluster %q, this node to cluster %q; give the node its own data directory, or remove this one", file, ErrForeign, d.meta.ClusterID, clusterID)
	}
	if d.meta.NodeID != nodeID {
		return fmt.Errorf("%s %w: it belongs to node %d, this is node %d; give the node its own data directory, or remove this one", file, ErrForeign, d.meta.NodeID, nodeID)
	}
	return nil
}

func (d *Directory) format(file, clusterID string, nodeID kafka.BrokerID) error {
	d.meta = MetaProperties{ClusterID: clusterID, NodeID: nodeID, DirectoryID: RandomUUID()}
	if err := checkUnformatted(d.fs, d.path, d.meta); err != nil {
		return err
	}
	if err := WriteAtomic(d.fs, file, d.meta.Encode()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// RandomUUID makes an id that Kafka takes for a directory: not one of the first
// hundred, which are reserved, nor one whose text begins with a dash.
func RandomUUID() kafka.UUID {
	var u kafka.UUID
	for u[0] == 0 || u[0]>>2 == 62 {
		rand.Read(u[:]) //nolint:errcheck // it never fails
	}
	u[6] = u[6]&0x0f | 0x40 // a version 4 id, as Java makes
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Meta says whose the directory is.
func (d *Directory) Meta() MetaProperties { return d.meta }

// LogDir is where Open finds the log.
func (d *Directory) LogDir() string { return filepath.Join(d.path, PartitionDir) }

// QuorumStatePath is the quorum-state file.
func (d *Directory) QuorumStatePath() string { return filepath.Join(d.LogDir(), quorumStateName) }

// Close lets other processes have the directory. It may be called again.
func (d *Directory) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// Encode gives the file as Java's Properties do, without the date comment.
func (m MetaProperties) Encode() []byte {
	return fmt.Appendf(nil, "#\ncluster.id=%s\ndirectory.id=%s\nnode.id=%d\nversion=1\n", m.ClusterID, m.DirectoryID, m.NodeID)
}

// DecodeMetaProperties reads meta.properties version 1. Unknown keys are
// ignored, as Kafka does.
func DecodeMetaProperties(b []byte) (MetaProperties, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return MetaProperties{}, fmt.Errorf("line %q is not key=value", line)
		}
		values[strings.TrimSpace(key)] = strings.ReplaceAll(strings.TrimSpace(value), `\`, "")
	}
	switch v, ok := values["version"]; {
	case len(values) == 0:
		return MetaProperties{}, errors.New("the file is empty")
	case !ok: // it is the last line
		return MetaProperties{}, errors.New("no version is in it: the file was cut short")
	case v != "1":
		return MetaProperties{}, fmt.Errorf("version is %q, 1 is read", v)
	}
	m := MetaProperties{ClusterID: values["cluster.id"]}
	id, err := strconv.ParseInt(values["node.id"], 10, 32)
	if err != nil || id < 0 {
		return MetaProperties{}, fmt.Errorf("node.id is %q, not an id", values["node.id"])
	}
	m.NodeID = kafka.BrokerID(id)
	if m.ClusterID == "" {
		return MetaProperties{}, errors.New("cluster.id is missing")
	}
	if v := values["directory.id"]; v != "" {
		if m.DirectoryID, err = kafka.ParseUUID(v); err != nil {
			return MetaProperties{}, fmt.Errorf("directory.id: %w", err)
		}
	}
	return m, nil
}
