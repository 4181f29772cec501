// Package node is what `kbench node` runs: it assembles one process of a
// cluster (brokers, a controller, or the embedded store) from a configuration
// file, serves until it is told to stop, and leaves in a controlled way.
//
// It alone knows both controllers and the broker; it knows nothing of the
// harness that starts it. Run is called from main.
package node
