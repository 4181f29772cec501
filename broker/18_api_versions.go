package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// featureSource is a plane that knows in which version the finalized features
// are; -1 where there are none.
type featureSource interface{ featuresEpoch() int64 }

// Features completes an answer to ApiVersions (KIP-584) with the finalized
// features that the broker knows. It is for wire.ServerConfig and may be called
// from any goroutine.
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
}
