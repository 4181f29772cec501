package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// TestPortInUse: a node that cannot have its address is bad input and
// leaves no data directory behind.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	voters := fmt.Sprintf(`"voters": [{"id": 1001, "host": "127.0.0.1", "port": %d}]`, port)
	for role, rest := range map[string]string{
		"zookeeper":  fmt.Sprintf(`"mode": "zk", "zkServer": {"host": "127.0.0.1", "port": %d, "tickTime": "2s"}`, port),
		"controller": `"mode": "kraft", "quorum": {"nodeId": 1001, ` + voters + `}`,
		"broker": fmt.Sprintf(`"mode": "kraft", "quorum": {%s}, "brokers": [{"id": 1, "host": "127.0.0.1", "port": %d}]`,
			voters, port),
	} {
		t.Run(role, func(t *testing.T) {
			t.Chdir(t.TempDir())
			cfg := fmt.Sprintf(`{"name": "n", "role": %q, "clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "dataDir": "data", %s}`, role, rest)
			if err := os.WriteFile("n.json", []byte(cfg), 0o644); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run([]string{"node", "--config", "n.json"}, &stdout, &stderr)
			if code != 2 || !strings.Contains(stderr.String(), "address already in use; ") {
				t.Errorf("exit %d: %s", code, stderr.String())
			}
			if left, _ := os.ReadDir("."); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
