// Package zk is kbench's port to ZooKeeper: the znodes of Kafka's ZooKeeper
// mode (paths and JSON, byte for byte those of Kafka 3.9) and a Session over
// go-zookeeper with that library's traps closed.
//
// It owns one ZooKeeper session. It must not know what a controller or a
// broker decides: it is a leaf that both import.
//
// What differs from the bare library:
//
//   - Expiry ends a Session for good. The library opens a new session by
//     itself, as if nothing had happened to the ephemeral nodes; here the event
//     Expired is the last one, every call fails with ErrExpired, and the owner
//     makes a new Session, as Kafka does.
//   - A reconnect does not sleep for a second, and re-arms watches with the
//     zxid last seen before the gap, so that no change made in it is missed.
//   - Events come from one source, in the order the server sent them.
//   - At most MaxInFlight requests are outstanding, as with Kafka's
//     zookeeper.max.in.flight.requests.
//   - A request whose reply was lost is sent again once the connection is back;
//     its Result says so, because its outcome was unknown in between.
//   - What does not fit ZooKeeper's jute.maxbuffer is refused before it is
//     sent; the server would only close the connection.
//
// Watches follow Kafka's pattern: register a path with Watch or WatchChildren,
// then read it; the read arms the watch. Each event disarms it.
//
// A Session may be used from any goroutine. OnEvent runs on the receive
// goroutine and must not block.
//
//	s, err := zk.Connect(ctx, zk.Config{Servers: []string{"127.0.0.1:2181"}, OnEvent: queue.Put})
//	if err != nil { … }
//	defer s.Close(ctx)
//	epoch, err := s.RegisterBroker(ctx, zk.BrokerRegistration{ID: 1, Endpoints: eps, Version: 5})
package zk
