package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/metadata"
)

// kafka-features shows what a broker supports; clients before ApiVersions 4 take
// a range from 0 for a fault.
func TestBrokerTellsSupportedFeatures(t *testing.T) {
	p := newKRaftRig(t).start(1, nil)
	for _, c := range []struct {
		version int16
		want    string
	}{
		{3, fmt.Sprintf("metadata.version 7-%d", metadata.NewestMetadataVersion)},
		{4, fmt.Sprintf("eligible.leader.replicas.version 0-1, group.version 0-1, kraft.version 0-1, metadata.version 7-%d, "+
			"share.version 0-2, streams.version 0-1, transaction.version 0-2", metadata.NewestMetadataVersion)},
	} {
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.Version = c.version
		p.Features(resp)
		var got []string
		for _, f := range resp.SupportedFeatures {
			got = append(got, fmt.Sprintf("%s %d-%d", f.Name, f.MinVersion, f.MaxVersion))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("version %d: %s, want %s", c.version, strings.Join(got, ", "), c.want)
		}
	}
}
