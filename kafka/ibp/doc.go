// Package ibp is Kafka's inter.broker.protocol.version: which version of each
// controller request, and which znode format, brokers of one setting use among
// themselves. The channel from controller to broker has no handshake, so the
// setting alone decides.
//
// It is a pure table. It must not know who sends or reads the requests; the
// ZooKeeper-mode controller and broker both ask it.
//
//	v, err := ibp.Parse("2.6")
//	v.LeaderAndISR()      // 4
//	v.AlterPartition()    // false: leaders write state znodes themselves
package ibp
