package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/admin"
	"kbench/kafka/wire"
)

// handleDescribeACLs gives the bindings that a filter matches, by resource.
func (b *Broker) handleDescribeACLs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	return admin.DescribeACLs(b.Image().Access(), r.Body.(*kmsg.DescribeACLsRequest)), nil
}
