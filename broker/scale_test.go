package broker

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"kbench/kafka"
)

// scale is how many partitions the tests of scale use: KBENCH_TEST_SCALE, or
// few enough for every run.
func scale() int32 {
	if n, err := strconv.Atoi(os.Getenv("KBENCH_TEST_SCALE")); err == nil && n > 0 {
		return int32(n)
	}
	return 10_000
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// After a broker restarts without memory, its replicas are in all ISRs again
// within seconds; three brokers and their controller share this process. Then
// the idle cluster costs next to nothing, which is measured where
// KBENCH_TEST_SCALE is set.
func TestScaleOfRejoin(t *testing.T) {
	r := newZKRig(t, 3)
	n := scale()
	began := time.Now()
	r.create("a", n, 3)
	t.Logf("%d partitions on 3 brokers: created in %v", n, time.Since(began))
	r.kill(3)
	r.update(nil)
	tps := make([]kafka.TopicPartition, n)
	r.mu.Lock()
	for p := range n {
		tps[p] = kafka.TopicPartition{Topic: "a", Partition: p}
		s := *r.truth[tps[p]]
		s.ISR = []kafka.BrokerID{1, 2}
		if s.Leader == 3 {
			s.Leader = kafka.BrokerID(p%2 + 1)
		}
		s.LeaderEpoch, s.PartitionEpoch = s.LeaderEpoch+1, s.PartitionEpoch+1
		r.truth[tps[p]] = &s
	}
	r.mu.Unlock()
	r.push(tps)
	p := r.start(3, 0, nil)
	began = time.Now()
	if resp := r.leaderAndISR(p, tps); len(resp.TopicStates) != 1 {
		t.Fatal("no state for the restarted broker")
	}
	r.push(tps)
	told := time.Since(began)
	whole := 0
	eventually(t, "all ISRs are whole", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for whole < int(n) && len(r.truth[tps[whole]].ISR) == 3 {
			whole++
		}
		return whole == int(n)
	})
	took := time.Since(began)
	t.Logf("told after %v, all ISRs whole after %v, %d AlterPartition requests", told, took, r.altered)
	if os.Getenv("KBENCH_TEST_SCALE") == "" {
		return
	}
	used := cpu()
	idle := 2 * time.Second
	<-time.After(idle) // what is measured is a span of idle time
	t.Logf("idle: %.2f%% of a core", 100*float64(cpu()-used)/float64(idle))
}
