package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// configReadTimeout bounds how long a produce waits for the configuration of
// its topic; without it the defaults hold.
const configReadTimeout = 2 * time.Second

// configCache holds topics' configuration as far as somebody asked for it, and
// drops what /config/changes says was written.
type configCache struct {
	mu     sync.Mutex
	topics map[string]map[string]string
	drops  int // counts what was dropped, so that an older read is not kept
}

// begin forgets everything: changes during the gap between two sessions may
// have been purged.
func (c *configCache) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topics = map[string]map[string]string{}
	c.drops++
}

// get gives an entry, or the count to hand to put with what is read instead.
func (c *configCache) get(topic string) (values map[string]string, drops int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.topics[topic]
	return v, c.drops, ok
}

func (c *configCache) put(topic string, values map[string]string, drops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops == drops && c.topics != nil {
		c.topics[topic] = values
	}
}

func (c *configCache) drop(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.topics, topic)
	c.drops++
}

// configs reads a resource's configuration from ZooKeeper.
func (p *zkPlane) configs(ctx context.Context, r metadata.ConfigResource) (map[string]string, error) {
	if r.Type == metadata.ClientMetricsConfig || r.Type == metadata.GroupConfig {
		return nil, fmt.Errorf("client metrics and groups have configuration in KRaft mode only: %w", kafka.InvalidRequest)
	}
	s, err := p.live()
	if err != nil {
		return nil, err
	}
	typ, entity := configEntity(r)
	return s.ReadConfig(ctx, typ, entity)
}

func (p *zkPlane) topicDef() *admin.ConfigDef { return admin.TopicConfigs3 }

func configEntity(r metadata.ConfigResource) (typ, entity string) {
	switch {
	case r.Type == metadata.TopicConfig:
		return zk.TopicConfigs, r.Name
	case r.Name == "":
		return zk.BrokerConfigs, zk.DefaultEntity
	}
	return zk.BrokerConfigs, r.Name
}

// topicConfig gives a topic's configuration, read once and again after it was
// changed.
func (p *zkPlane) topicConfig(ctx context.Context, topic string) map[string]string {
	cached, drops, ok := p.topicConfigs.get(topic)
	if ok {
		return cached
	}
	wire.Park(ctx) // Kafka's brokers hold it already
	ctx, cancel := context.WithTimeout(ctx, configReadTimeout)
	defer cancel()
	v, err := p.configs(ctx, metadata.ConfigResource{Type: metadata.TopicConfig, Name: topic})
	if err != nil {
		p.b.log.Warn("topic configuration not read, defaults hold", "topic", topic, "reason", err)
		return nil
	}
	p.topicConfigs.put(topic, v, drops)
	return v
}
