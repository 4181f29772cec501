package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestListNamesParameters: what a spec may write is found without its schema,
// and a metric with every workload that measures it.
func TestListNamesParameters(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"list"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	for _, want := range []string{
		"how the fault is made: kill, pause", "(default 20/s, 0.01/s to 100000/s)",
		"(workload controlled-shutdown, broker-failure, rolling-restart, controller-failover, leader-seek, headline partition)",
		"(default create=2, config=4, leader=4)", "from SIGTERM; granted:", "(0.01/s to 100000/s)", "delivery.timeout.ms 30s",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("lacks %q:\n%s", want, stdout.String())
		}
	}
}
