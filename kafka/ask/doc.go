// Package ask is the questions of clients that watch a cluster: the requests
// that the harness, its probes and the workloads send alike, and what their
// answers say.
//
// It must not know how a request is sent, nor to whom. Everything is pure.
//
//	resp, err := conn.Request(ctx, ask.DescribeQuorum())
//	quorum, err := ask.Quorum(resp.(*kmsg.DescribeQuorumResponse))
package ask
