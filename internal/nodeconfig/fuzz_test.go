package nodeconfig

import (
	"os"
	"path/filepath"
	"testing"

	"kbench/internal/fuzzing"
)

// FuzzLoad: no configuration makes a node panic or take more memory than its
// size can ask for, and one that is accepted is accepted again as it is written.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"name":"c1","role":"controller","mode":"kraft","clusterId":"QaQaQaQaQaQaQaQaQaQaQQ","dataDir":"d","quorum":{"nodeId":1,"voters":[{"id":1,"host":"h","port":2}]}}`))
	f.Add([]byte(`{"name":"b1","role":"broker","mode":"kraft","clusterId":"QaQaQaQaQaQaQaQaQaQaQQ","dataDir":"d","brokers":[{"id":1,"host":"h","port":9}],"quorum":{"bootstrap":["h:2"]},"timers":{"fetchTimeout":"2s"}}`))
	f.Add([]byte(`{"name":"z","role":"zookeeper","dataDir":"d","zkServer":{"host":"h","port":1,"tickTime":"500ms"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "node.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var c *Config
		var err error
		fuzzing.Within(t, len(b), 512, func() { c, err = Load(path) })
		if err != nil {
			return
		}
		if err := c.Write(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err != nil {
			t.Fatalf("as it is written: %v", err)
		}
	})
}
