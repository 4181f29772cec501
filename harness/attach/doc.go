// Package attach reaches a cluster that kbench did not start, for target attach.
//
// It owns how such a cluster is found (Metadata, ApiVersions and DescribeQuorum
// of its own brokers), the hooks by which the user has its nodes stopped and
// started, and the names of the topics that kbench makes in it, so that they are
// removed when the run ends, and by `kbench clean --bootstrap` where it was
// killed. It must not know what is measured, and it changes nothing but topics
// whose names begin with its prefix: it configures nothing, elects and reassigns
// nothing of others, and makes no fault by itself.
//
// The harness calls it from the goroutine of a cell; nodes may be used from any.
//
//	there := attach.Access{Bootstrap: []string{"broker:9092"}}
//	found, err := there.Find(ctx)
//	prefix := attach.Prefix(1)
//	left, err := there.Delete(ctx, func(topic string) bool { return strings.HasPrefix(topic, prefix) })
package attach
