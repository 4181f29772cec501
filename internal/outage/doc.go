// Package outage takes ZooKeeper away in the middle of whatever a cluster of
// ZooKeeper mode does: the server is stopped and started again, stands still for
// longer than the sessions last, or is cut off from one broker or from the
// controller, while a topic is created or deleted, replicas move, leaders are
// elected, an ISR, a configuration or an ACL changes, a broker fails or leaves,
// and while a controller takes over.
//
// It holds tests alone. Brokers and candidates run in the test's process over
// the embedded server or a real ZooKeeper; their connections to it are the
// test's, which strikes after so many requests of the flow, before one of them
// leaves or after it was sent, so that requests and replies get lost. After each
// outage everything must be as it would have been without one, within 30 s of
// the end of the outage: whatever was acknowledged is there, every broker serves
// what the znodes say, each broker is in sync, one controller is active, and no
// order is left in /admin. In the end the history of all znodes is judged.
package outage
