package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/metadata"
)

// featureSource is a plane that knows in which version the finalized features
// are; -1 where there are none.
type featureSource interface{ featuresEpoch() int64 }

// quorumFeatures is a plane whose features are those of a KRaft cluster: the
// levels that the broker registers with, and the finalized one of kraft.version,
// which is not among the metadata.
type quorumFeatures interface{ kraftVersion() int16 }

// Features completes an answer to ApiVersions (KIP-584) with the finalized
// features that the broker knows and, in KRaft mode, those that it supports. It
// is for wire.ServerConfig and may be called from any goroutine.
func (b *Broker) Features(resp *kmsg.ApiVersionsResponse) {
	img := b.Image()
	resp.FinalizedFeaturesEpoch = int64(img.Offset())
	if s, ok := b.plane.(featureSource); ok {
		resp.FinalizedFeaturesEpoch = s.featuresEpoch()
	}
	for name, level := range img.Features() {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	if q, ok := b.plane.(quorumFeatures); ok {
		addQuorumFeatures(resp, q.kraftVersion())
	}
}

func addQuorumFeatures(resp *kmsg.ApiVersionsResponse, kraftVersion int16) {
	for _, has := range supported {
		if resp.Version < 4 && has.MinSupportedVersion == 0 {
			continue // older clients take a range from 0 for a fault (KAFKA-17492)
		}
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = has.Name, has.MinSupportedVersion, has.MaxSupportedVersion
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	if kraftVersion > 0 {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = metadata.KRaftVersionFeature, kraftVersion, kraftVersion
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
}
