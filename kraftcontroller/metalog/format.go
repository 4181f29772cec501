package metalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"kbench/kafka"
)

const bootstrapName = "bootstrap.checkpoint"

// ErrFormatted says that a data directory has its meta.properties already.
var ErrFormatted = errors.New("is formatted already")

// ErrForeign says that it is that of another node or cluster.
var ErrForeign = errors.New("is formatted for another node")

// Format is what a new data directory is given, as `kafka-storage format` does.
type Format struct {
	ClusterID string
	NodeID    kafka.BrokerID
	Directory kafka.UUID // zero: one at random
	Quorum    Quorum     // the first voters of a dynamic quorum; zero with static ones
	Values    [][]byte   // the metadata records that the cluster begins with, encoded
	Timestamp int64      // ms since 1970, of the snapshot
	// Separate puts the records into bootstrap.checkpoint, as Kafka before 4.2
	// does, instead of the snapshot 0-0, where it keeps the voters only.
	Separate bool
}

// FormatDirectory makes path the data directory that f describes. The snapshot
// is written first and meta.properties last and at once, so that what a failure
// leaves behind is not formatted and can be formatted again. A directory with
// meta.properties gives ErrFormatted, or ErrForeign where it is another node's, and
// stays as it is; so does one that holds a log.
func FormatDirectory(fs FS, path string, f Format) (MetaProperties, error) {
	meta := MetaProperties{ClusterID: f.ClusterID, NodeID: f.NodeID, DirectoryID: f.Directory}
	if meta.DirectoryID.IsZero() {
		meta.DirectoryID = RandomUUID()
	}
	if _, err := DecodeMetaProperties(meta.Encode()); err != nil {
		return meta, fmt.Errorf("format %s: %w", path, err)
	}
	if err := fs.MkdirAll(path); err != nil {
		return meta, fmt.Errorf("format %s: %w", path, Cured(err))
	}
	lock, err := fs.Lock(filepath.Join(path, lockName))
	if err != nil {
		return meta, fmt.Errorf("format %s: %w", path, Cured(err))
	}
	err = format(fs, path, meta, f)
	if err = errors.Join(err, lock.Close()); err != nil {
		return meta, fmt.Errorf("format %s: %w", path, Cured(err))
	}
	return meta, nil
}

func format(fs FS, path string, meta MetaProperties, f Format) error {
	if err := checkUnformatted(fs, path, meta); err != nil {
		return err
	}
	dir := filepath.Join(path, PartitionDir)
	if err := fs.MkdirAll(dir); err != nil {
		return err
	}
	in := f.Values
	if f.Separate {
		in = nil
		if err := writeCheckpoint(fs, filepath.Join(path, bootstrapName), Quorum{}, f.Values, 0, f.Timestamp); err != nil {
			return err
		}
	}
	if len(in) > 0 || f.Quorum.Level > 0 {
		first := filepath.Join(dir, SnapshotID{}.String()+snapshotSuffix)
		if err := writeCheckpoint(fs, first, f.Quorum, in, f.Timestamp, f.Timestamp); err != nil {
			return err
		}
	}
	return WriteAtomic(fs, filepath.Join(path, metaPropertiesName), meta.Encode())
}

// checkUnformatted refuses a directory that somebody uses or used.
func checkUnformatted(fs FS, path string, want MetaProperties) error {
	b, err := fs.ReadFile(filepath.Join(path, metaPropertiesName))
	if err == nil {
		m, err := DecodeMetaProperties(b)
		if err != nil {
			return damagedMeta(filepath.Join(path, metaPropertiesName), err)
		}
		is := ErrFormatted
		if m.ClusterID != want.ClusterID || m.NodeID != want.NodeID {
			is = ErrForeign
		}
		return fmt.Errorf("it %w, for node %d of cluster %q: give another directory, or remove this one", is, m.NodeID, m.ClusterID)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names, err := fs.ReadDir(filepath.Join(path, PartitionDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if id, ok := parseSnapshotName(name); (!ok || id != SnapshotID{}) && !isLeftover(name) {
			return fmt.Errorf("%s is missing, but %s holds %s of a log: restore the file, or remove the directory", metaPropertiesName, filepath.Join(path, PartitionDir), name)
		}
	}
	return nil
}

// writeCheckpoint writes a whole snapshot file, durably.
func writeCheckpoint(fs FS, name string, q Quorum, values [][]byte, last, timestamp int64) error {
	records := make([]Record, len(values))
	for i, v := range values {
		records[i].Value = v
	}
	b := Batch{Control: true, Timestamp: timestamp, Records: headerRecords(last, q)}
	raw, err := b.Append(nil)
	if err == nil && len(records) > 0 {
		b = Batch{BaseOffset: b.EndOffset(), Timestamp: timestamp, Records: records}
		raw, err = b.Append(raw)
	}
	if err == nil {
		b = Batch{BaseOffset: b.EndOffset(), Control: true, Timestamp: timestamp, Records: []Record{snapshotFooterRecord()}}
		raw, err = b.Append(raw)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := WriteAtomic(fs, name, raw); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Bootstrap gives the metadata records that the directory was formatted with:
// those of bootstrap.checkpoint, as Kafka before 4.2 writes it, or else those of
// the snapshot 0-0. None is no error: the directory was not formatted by a tool.
func (d *Directory) Bootstrap() ([][]byte, error) {
	for _, name := range []string{
		filepath.Join(d.path, bootstrapName),
		filepath.Join(d.LogDir(), SnapshotID{}.String()+snapshotSuffix),
	} {
		if _, err := d.fs.ReadFile(name); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		values, err := checkpointValues(d.fs, name)
		if err != nil {
			return nil, fmt.Errorf("what the directory was formatted with: %w: restore the file; of a node that was never started, remove the directory and format it again", err)
		}
		if len(values) > 0 {
			return values, nil
		}
	}
	return nil, nil
}

func checkpointValues(fs FS, name string) ([][]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	r := SnapshotReader{path: name, file: f, size: size}
	var values [][]byte
	for err == nil {
		var b Batch
		if b, err = r.Next(); err != nil {
			break
		}
		for _, rec := range b.Records {
			values = append(values, slices.Clone(rec.Value))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return values, errors.Join(err, f.Close())
}
