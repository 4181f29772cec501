package broker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/zkcontroller/zk"
)

// configReadTimeout bounds how long a produce waits for the configuration of
// its topic; without it the defaults hold.
const configReadTimeout = 2 * time.Second

const configChangePrefix = "config_change_"

// configCache holds topics' configuration as far as somebody asked for it, and
// drops what /config/changes says was written.
type configCache struct {
	changes chan struct{} // capacity 1; readable when there may be news

	mu     sync.Mutex
	topics map[string]map[string]string
	drops  int   // counts what was dropped, so that an older read is not kept
	seen   bool  // the changes were listed once
	last   int64 // highest change seen; -1 for none
}

// begin forgets everything: changes during the gap between two sessions may
// have been purged.
func (c *configCache) begin(changes chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes, c.topics, c.seen, c.last = changes, map[string]map[string]string{}, false, -1
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

// catchUp arms the watch and handles the changes since the last call, in any
// order since each only drops an entry. The first call of a session has nothing
// to drop and remembers where the changes are.
func (c *configCache) catchUp(ctx context.Context, s *zk.Session) error {
	r := s.Do(ctx, zk.Children(zk.ConfigChangesPath))
	if r.Err != nil {
		return fmt.Errorf("list %s: %w", zk.ConfigChangesPath, r.Err)
	}
	c.mu.Lock()
	seen, last := c.seen, c.last
	c.mu.Unlock()
	newest := last
	var unread []string
	for _, name := range r.Children {
		n, err := strconv.ParseInt(strings.TrimPrefix(name, configChangePrefix), 10, 64)
		if err != nil || n <= last {
			continue
		}
		newest = max(newest, n)
		unread = append(unread, zk.ConfigChangesPath+"/"+name)
	}
	if seen {
		err := s.Pipeline(ctx, len(unread), func(i int) zk.Op { return zk.Get(unread[i]) }, func(_ int, r zk.Result) {
			if entity, err := zk.DecodeConfigChange(r.Data); r.Err == nil && err == nil {
				if topic, ok := strings.CutPrefix(entity, zk.TopicConfigs+"/"); ok {
					c.drop(topic)
				}
			}
		})
		if err != nil {
			return fmt.Errorf("read config changes: %w", err)
		}
	}
	c.mu.Lock()
	c.seen, c.last = true, newest
	c.mu.Unlock()
	return nil
}

// configs reads a resource's configuration from ZooKeeper.
func (p *zkPlane) configs(ctx context.Context, r metadata.ConfigResource) (map[string]string, error) {
	s := p.session.Load()
	if s == nil {
		return nil, fmt.Errorf("no ZooKeeper session at the moment: %w", kafka.BrokerNotAvailable)
	}
	typ, entity := configEntity(r)
	return s.ReadConfig(ctx, typ, entity)
}

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
