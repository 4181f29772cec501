package kraftcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/admin"
	"kbench/kafka/wire"
)

// serveDescribeACLs answers from the committed image, on any controller.
func (c *Controller) serveDescribeACLs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	return admin.DescribeACLs(c.View().Image.Access(), r.Body.(*kmsg.DescribeACLsRequest)), nil
}
