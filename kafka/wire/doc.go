// Package wire speaks Kafka's framing over the messages of franz-go's kmsg: a
// server that hands whole requests to handlers, and a raw client connection
// that sends one message at a version its caller chose.
//
// It owns frames, headers, version ranges, connection and in-flight bounds. It
// must not know what a request means: brokers and controllers bring handlers,
// workloads bring requests. Retries, reconnects and the routing to a leader or
// a controller belong to the callers.
//
// A Server reads each connection on one goroutine and answers on another, one
// request at a time and in order, as Kafka does; handlers run on the second
// and may block. Brokers bound the handlers of all their listeners by a
// RequestChannel, as Kafka's brokers do. A Conn reads on one goroutine of its
// own; Request runs on its caller's.
//
//	srv, err := wire.NewServer(wire.ServerConfig{Listener: "PLAINTEXT", APIs: []wire.API{{
//		Key: 3, MinVersion: 0, MaxVersion: 12,
//		Handle: func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
//			return r.Body.ResponseKind(), nil
//		},
//	}}})
//	go srv.Serve(listener)
//	defer srv.Close(ctx)
package wire
