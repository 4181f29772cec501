package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// formatFlags are the flags of `node format`, named as those of
// `kafka-storage format`.
type formatFlags struct {
	clusterID, dataDir, release   string
	nodeID                        int32
	features, scram               []string
	standalone, initial           string
	noInitial, ignore, newCluster bool
}

func newNodeFormat() *cobra.Command {
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "format --cluster-id ID --node-id N --data-dir DIR",
		Short: "Prepare a controller's data directory, as kafka-storage does",
		Long: `Format writes what a controller of a new cluster begins with: meta.properties,
and a first snapshot with the features, the SCRAM credentials and, of a dynamic
quorum, the first voters. Without --standalone, --initial-controllers or
--no-initial-controllers the voters are static: those of the configuration.

The directory is one that Kafka's own controllers start from, and one that
kafka-storage formatted is one that this node starts from. A node's
configuration names the directory above it: DIR is its dataDir with /metadata.

The same cluster id and the same --initial-controllers go to every node.`,
		Example: `  kbench node format --random-cluster-id
  kbench node format --cluster-id MkU3OEVBNTcwNTJENDM2Qg --node-id 3001 \
    --data-dir c1/metadata --standalone 127.0.0.1:9093`,
		Args: atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.newCluster {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), metalog.RandomUUID())
				return err
			}
			return f.run(cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.clusterID, "cluster-id", "", "the cluster's id, the same on all nodes")
	fl.Int32Var(&f.nodeID, "node-id", -1, "this node's id")
	fl.StringVar(&f.dataDir, "data-dir", "", "the directory to format, made where absent")
	fl.StringVar(&f.release, "release-version", "", "the metadata.version to begin with, as 4.0-IV3, or 4.0 for its newest (default "+metadata.DefaultMetadataVersion.String()+")")
	fl.StringArrayVar(&f.features, "feature", nil, "NAME=LEVEL of another feature; may be repeated")
	fl.StringVar(&f.standalone, "standalone", "", "HOST:PORT: a dynamic quorum of this node alone, which listens there")
	fl.StringVar(&f.initial, "initial-controllers", "", "ID@HOST:PORT:DIRECTORY-ID,...: the first voters of a dynamic quorum")
	fl.BoolVar(&f.noInitial, "no-initial-controllers", false, "a node that joins a dynamic quorum")
	fl.StringArrayVar(&f.scram, "add-scram", nil, "SCRAM-SHA-256=[name=USER,password=SECRET]; may be repeated")
	fl.BoolVar(&f.ignore, "ignore-formatted", false, "a formatted directory is no error and stays as it is")
	fl.BoolVar(&f.newCluster, "random-cluster-id", false, "print a new cluster id and do nothing else")
	return cmd
}

func (f *formatFlags) run(out io.Writer) error {
	format, version, err := f.parse()
	if err != nil {
		return badInput(err)
	}
	meta, err := metalog.FormatDirectory(metalog.OS(), f.dataDir, format)
	switch {
	case errors.Is(err, metalog.ErrFormatted) && f.ignore:
		_, err = fmt.Fprintf(out, "%s is formatted already; left as it is\n", f.dataDir)
		return err
	case metalog.Refused(err):
		return badInput(err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(out, "formatted %s for node %d of cluster %s, directory id %s, metadata.version %s, %s\n",
		f.dataDir, meta.NodeID, meta.ClusterID, meta.DirectoryID, version, voterText(format.Quorum))
	return err
}

func voterText(q metalog.Quorum) string {
	if q.Level == 0 {
		return "static voters"
	}
	ids := make([]string, len(q.Voters))
	for i, v := range q.Voters {
		ids[i] = fmt.Sprint(v.ID)
	}
	if len(ids) == 0 {
		return "dynamic voters, none known yet"
	}
	return "voters " + strings.Join(ids, ", ")
}

// parse reads the flags and tells all that is wrong with them.
func (f *formatFlags) parse() (metalog.Format, metadata.MetadataVersion, error) {
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	if f.clusterID == "" {
		fault(errors.New("--cluster-id is missing; `kbench node format --random-cluster-id` prints a new one"))
	} else if strings.ContainsAny(f.clusterID, "\n\r\\=") {
		fault(fmt.Errorf("--cluster-id %q holds a character that meta.properties cannot", f.clusterID))
	}
	if f.nodeID < 0 {
		fault(errors.New("--node-id is missing or negative"))
	}
	if f.dataDir == "" {
		fault(errors.New("--data-dir is missing; it is the node's dataDir with /metadata"))
	}
	version, values, err := f.records()
	fault(err)
	quorum, directory, err := f.quorum()
	fault(err)
	if quorum.Level > 0 && version != 0 && version < metadata.V3_9_IV0 {
		fault(fmt.Errorf("--release-version %s has static voters only; dynamic ones need %s", version, metadata.V3_9_IV0))
	}
	return metalog.Format{
		ClusterID: f.clusterID, NodeID: kafka.BrokerID(f.nodeID), Directory: directory, Quorum: quorum, Values: values,
		Timestamp: time.Now().UnixMilli(), Separate: version <= metadata.V3_9_IV0,
	}, version, errors.Join(faults...)
}
