package interop

import (
	"testing"
	"time"
)

// ofRealKRaftBrokers are those of real brokers under controllers of kbench.
var ofRealKRaftBrokers = []story[*kraft]{
	{"topics", (*kraft).storyTopics},
	{"console-clients", (*kraft).storyConsoleClients},
	{"transactions", (*kraft).storyTransactions},
	{"quorum-tools", (*kraft).storyQuorumTools},
	{"configs", (*kraft).storyConfigs},
	{"client-metrics-and-groups", (*kraft).storyClientMetricsAndGroups},
	{"acls", (*kraft).storyACLs},
	{"security", (*kraft).storySecurity},
	{"expansion", (*kraft).storyExpansion},
	{"reassignment", (*kraft).storyReassignment},
	{"reassignment-cancel", (*kraft).storyReassignmentCancel},
	{"deletion", (*kraft).storyDeletion},
	{"controlled-shutdown", (*kraft).storyControlledShutdown},
	{"preferred-election", (*kraft).storyPreferredElection},
	{"log-dirs", (*kraft).storyLogDirs},
	{"broker-killed", (*kraft).storyBrokerKilled},
	{"controller-killed", (*kraft).storyControllerKilled},
	{"files", (*kraft).storyFiles},
	{"newest-version", (*kraft).storyNewestVersion},
}

// ofMixedQuorums lead from three real controllers to three of kbench and back,
// under brokers of kbench.
var ofMixedQuorums = []story[*kraft]{
	{"our-topics", (*kraft).storyOurTopics},
	{"configs", (*kraft).storyConfigs},
	{"client-metrics-and-groups", (*kraft).storyClientMetricsAndGroups},
	{"acls", (*kraft).storyACLs},
	{"our-reassignment", (*kraft).storyOurReassignment},
	{"our-election", (*kraft).storyOurElection},
	{"our-broker-killed", (*kraft).storyOurBrokerKilled},
	{"controller-killed", (*kraft).storyControllerKilled},
	{"two-real-one-ours", (*kraft).storyTwoRealOneOurs},
	{"two-ours-one-real", (*kraft).storyTwoOursOneReal},
	{"three-ours", (*kraft).storyThreeOurs},
	{"files", (*kraft).storyFiles},
	{"newest-version", (*kraft).storyNewestVersion},
	{"real-voter-again", (*kraft).storyRealVoterAgain},
	{"tools-at-ours", (*kraft).storyToolsAtOurs},
}

// TestKRaftRealBrokers runs real brokers under three controllers of kbench.
func TestKRaftRealBrokers(t *testing.T) {
	began := time.Now()
	k := newKRaft(t, ourControllers...)
	for _, id := range ourControllers {
		k.startController(t, id, k.firstVoters(ourControllers...))
	}
	k.awaitLeader(t, 0, ourControllers...)
	for _, id := range realBrokers {
		k.startRealBroker(t, id)
	}
	k.awaitServing(t, realBrokers...)
	k.all, k.keepers, k.asks, k.front = realBrokers, realBrokers, realBrokers, real1
	k.judgeLogs(t)
	t.Logf("the cluster is up after %v", time.Since(began).Round(time.Millisecond))
	tell(t, k, ofRealKRaftBrokers)
}

// TestKRaftMixedQuorums runs brokers of kbench under real controllers, and
// replaces these one at a time.
func TestKRaftMixedQuorums(t *testing.T) {
	began := time.Now()
	k := newKRaft(t, append(append([]broker{}, realControllers...), ourControllers...)...)
	done := k.faults.begin("the quorum starts")
	for _, id := range realControllers {
		k.startController(t, id, k.firstVoters(realControllers...))
	}
	k.awaitLeader(t, 0, realControllers...)
	for _, id := range planeBrokers {
		k.startOurBroker(t, id)
	}
	k.awaitServing(t, planeBrokers...)
	done()
	k.all, k.asks, k.front = planeBrokers, planeBrokers, plane1
	k.judgeLogs(t)
	t.Logf("the cluster is up after %v", time.Since(began).Round(time.Millisecond))
	tell(t, k, ofMixedQuorums)
}
