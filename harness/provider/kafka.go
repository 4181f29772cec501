package provider

import "context"

// Kafka is one process of real Apache Kafka that is to be started: a candidate
// of ZooKeeper mode or a controller of a KRaft quorum.
type Kafka struct {
	Name string // unique in the cluster; names files
	// Version is that of Kafka, such as 3.9.2.
	Version string
	// Properties is server.properties without log.dirs, which the provider adds.
	Properties []Property
	// ClusterID formats the storage before the first start, as KRaft needs it;
	// empty formats nothing.
	ClusterID string
	// MetadataVersion is the metadata.version that storage is formatted at, such as
	// 4.0-IV3; empty is Kafka's own choice, the newest of Version.
	MetadataVersion string
	Heap            string // of the JVM, such as 1g; both -Xms and -Xmx
	// Record has the JVM record itself; the node is a Recorder.
	Record bool
	JVM    []string // more flags of the JVM, after those of Kafka's start script
}

// Property is one line of server.properties.
type Property struct{ Key, Value string }

// Heaped is a node whose JVM tells what is live on its heap.
type Heaped interface {
	Node
	// LiveHeap has the JVM collect its whole heap and gives the bytes of what is
	// left.
	LiveHeap(ctx context.Context) (bytes int64, err error)
}

// Recorder is a node whose JVM can record itself.
type Recorder interface {
	// DumpRecording writes what the running JVM has recorded of its life to a
	// file. A node that does not run has nothing, and makes no file.
	DumpRecording(ctx context.Context, file string) error
}
