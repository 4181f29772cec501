package broker

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// listedResources are the types of which ListConfigResources gives names, by the
// version from which on it does: version 0 is that of KIP-714, for client metrics
// alone, version 1 that of KIP-1142.
var listedResources = []struct {
	kind  kmsg.ConfigResourceType
	since int16
}{
	{kmsg.ConfigResourceTypeTopic, 1},
	{kmsg.ConfigResourceTypeBroker, 1},
	{kmsg.ConfigResourceTypeBrokerLogger, 1},
	{kmsg.ConfigResourceTypeClientMetrics, 0},
	{kmsg.ConfigResourceTypeGroupConfig, 1},
}

// handleListConfigResources names what has configuration: of client metrics and
// groups those that something is set for, of topics and brokers all. A request
// that names no type asks for all types of its version.
func (p *kraftPlane) handleListConfigResources(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ListConfigResourcesRequest)
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	var kinds []kmsg.ConfigResourceType
	for _, l := range listedResources {
		if req.Version >= l.since && (len(req.ResourceTypes) == 0 || slices.Contains(req.ResourceTypes, int8(l.kind))) {
			kinds = append(kinds, l.kind)
		}
	}
	for _, asked := range req.ResourceTypes {
		if !slices.Contains(kinds, kmsg.ConfigResourceType(asked)) {
			resp.ErrorCode = int16(kafka.UnsupportedVersion)
			return resp, nil
		}
	}
	img := p.b.Image()
	for _, kind := range kinds {
		for _, name := range resourceNames(img, kind, r.Listener) {
			x := kmsg.NewListConfigResourcesResponseConfigResource()
			x.Name, x.Type = name, int8(kind)
			resp.ConfigResources = append(resp.ConfigResources, x)
		}
	}
	return resp, nil
}

// resourceNames gives the names of one type, brokers by the listener of who asks.
func resourceNames(img *metadata.Image, kind kmsg.ConfigResourceType, listener string) []string {
	var names []string
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		for t := range img.Topics() {
			names = append(names, t.Name())
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for reg := range img.Brokers() {
			if n, ok := nodeOf(reg, listener); ok {
				names = append(names, strconv.Itoa(int(n.id)))
			}
		}
	default:
		for res := range img.Configs() {
			if res.Type == metadata.ConfigType(kind) {
				names = append(names, res.Name)
			}
		}
	}
	return names
}
