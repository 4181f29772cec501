package kraftcontroller

import (
	"fmt"

	"kbench/kafka/metadata"
)

// bootstrap takes from the data directory what the cluster is to begin with, as
// `kbench node format` or Kafka's own tool wrote it; that counts in place of the
// machine's configuration. A directory that no tool formatted has nothing.
func (c *Controller) bootstrap() error {
	values, err := c.client.Bootstrap()
	if err != nil || len(values) == 0 {
		return err
	}
	c.cfg.Machine.Bootstrap = nil
	for i, v := range values {
		r, _, err := metadata.ReadRecord(v)
		if err != nil {
			return fmt.Errorf("record %d of %d that the directory was formatted with: %w", i+1, len(values), err)
		}
		if f, ok := r.(*metadata.FeatureLevelRecord); ok && f.Name == metadata.MetadataVersionFeature {
			c.cfg.Machine.MetadataVersion = metadata.MetadataVersion(f.FeatureLevel)
		}
		c.cfg.Machine.Bootstrap = append(c.cfg.Machine.Bootstrap, r)
	}
	return nil
}
