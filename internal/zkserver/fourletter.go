package zkserver

import (
	"fmt"
	"strings"
)

// fourLetter answers ZooKeeper's administrative words that cost nothing; a
// connection that begins with one gets the answer and ends.
func (s *Server) fourLetter(word string) (string, bool) {
	switch word {
	case "ruok":
		return "imok", true
	case "isro":
		return "rw", true
	case "srvr":
		return s.srvr(), true
	case "mntr":
		return s.mntr(), true
	}
	return "", false
}

// version is in the form that clients parse; it does not claim to be
// ZooKeeper's.
const version = "kbench-embedded-1, built on 01/01/2026 00:00 UTC"

func (s *Server) srvr() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\n", version)
	fmt.Fprintf(&b, "Latency min/avg/max: 0/0/0\n")
	fmt.Fprintf(&b, "Received: %d\nSent: %d\n", s.stats.received.Load(), s.stats.sent.Load())
	fmt.Fprintf(&b, "Connections: %d\nOutstanding: 0\n", s.connections())
	fmt.Fprintf(&b, "Zxid: 0x%x\nMode: standalone\nNode count: %d\n", s.stats.zxid.Load(), s.stats.nodes.Load())
	return b.String()
}

func (s *Server) mntr() string {
	var b strings.Builder
	fmt.Fprintf(&b, "zk_version\t%s\nzk_server_state\tstandalone\n", version)
	fmt.Fprintf(&b, "zk_num_alive_connections\t%d\n", s.connections())
	fmt.Fprintf(&b, "zk_packets_received\t%d\nzk_packets_sent\t%d\n", s.stats.received.Load(), s.stats.sent.Load())
	fmt.Fprintf(&b, "zk_znode_count\t%d\nzk_watch_count\t%d\n", s.stats.nodes.Load(), s.stats.watches.Load())
	fmt.Fprintf(&b, "zk_approximate_data_size\t%d\n", s.stats.bytes.Load())
	fmt.Fprintf(&b, "zk_fsync_count\t%d\n", s.stats.syncs.Load())
	return b.String()
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
