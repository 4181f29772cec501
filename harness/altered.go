package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/workloads"
)

// topicResource is the resource type of a topic in DescribeConfigs.
const topicResource = kmsg.ConfigResourceTypeTopic

// altered lists the configurations that operations changed, by topic.
func altered(ops []checker.Operation) map[string][]string {
	out := map[string][]string{}
	for _, op := range ops {
		if op.Kind == checker.AlterConfig && !slices.Contains(out[op.Topic], op.Config) {
			out[op.Topic] = append(out[op.Topic], op.Config)
		}
	}
	return out
}

// takeConfigs adds to a broker's view what it serves of those configurations.
func takeConfigs(ctx context.Context, n workloads.Node, v *checker.View, names map[string][]string) error {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, t := range v.Topics {
		if len(names[t.Name]) == 0 {
			continue
		}
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = topicResource, t.Name, names[t.Name]
		req.Resources = append(req.Resources, r)
	}
	if len(req.Resources) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("configurations from %s: %w", n.Addr, err)
	}
	served := map[string][]checker.Config{}
	for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
		if err := kafka.ErrorCode(r.ErrorCode).Err(); err != nil {
			return fmt.Errorf("configurations of %s from %s: %w", r.ResourceName, n.Addr, err)
		}
		for _, name := range names[r.ResourceName] {
			one := checker.Config{Name: name}
			i := slices.IndexFunc(r.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return c.Name == name })
			if i >= 0 && r.Configs[i].Value != nil {
				one.Value = *r.Configs[i].Value
			}
			served[r.ResourceName] = append(served[r.ResourceName], one)
		}
	}
	for i := range v.Topics {
		v.Topics[i].Configs = served[v.Topics[i].Name]
	}
	return nil
}
