// Package kafka is the vocabulary every other package speaks: node ids,
// epochs, offsets, topic ids and error codes, each a distinct type so that a
// leader epoch cannot be passed where a controller epoch is meant.
//
// It owns names and nothing else: no I/O, no clock, no state. Everybody may
// import it and it imports nothing of kbench.
package kafka
