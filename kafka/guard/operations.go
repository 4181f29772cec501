package guard

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
)

// The operations that there are on topics and on the cluster.
var (
	topicOperations = []access.Operation{
		access.Read, access.Write, access.Create, access.Delete, access.Alter, access.Describe, access.DescribeConfigs, access.AlterConfigs,
	}
	operationsOnCluster = []access.Operation{
		access.Create, access.Alter, access.Describe, access.ClusterAction, access.DescribeConfigs, access.AlterConfigs, access.IdempotentWrite,
	}
)

// tellOperations adds what the client may do with what a response shows, where the
// request asks for it (KIP-430). Without an authorizer that is everything.
func (c client) tellOperations(req kmsg.Request, kresp kmsg.Response) {
	switch resp := kresp.(type) {
	case *kmsg.MetadataResponse:
		req := req.(*kmsg.MetadataRequest)
		if req.IncludeClusterAuthorizedOperations && req.Version >= 8 && req.Version <= 10 {
			resp.AuthorizedOperations = c.onCluster()
		}
		for i := range resp.Topics {
			if t := &resp.Topics[i]; req.IncludeTopicAuthorizedOperations && req.Version >= 8 && t.ErrorCode == 0 {
				t.AuthorizedOperations = c.allowed(access.Topic, deref(t.Topic), topicOperations)
			}
		}
	case *kmsg.DescribeClusterResponse:
		if req.(*kmsg.DescribeClusterRequest).IncludeClusterAuthorizedOperations && resp.ErrorCode == 0 {
			resp.ClusterAuthorizedOperations = c.onCluster()
		}
	}
}

// onCluster gives the operations on the cluster, none to who may not DESCRIBE it.
func (c client) onCluster() int32 {
	if c.auth != nil && !c.mayCluster(access.Describe) {
		return 0
	}
	return c.allowed(access.Cluster, access.ClusterName, operationsOnCluster)
}

// allowed gives those of ops that the client may do, each as the bit of its number.
func (c client) allowed(kind access.ResourceType, name string, ops []access.Operation) (bits int32) {
	for _, op := range ops {
		if c.auth == nil || c.may(op, kind, name) {
			bits |= 1 << op
		}
	}
	return bits
}
