// Package proto is the wire form of ZooKeeper's client protocol: jute's
// primitive encoding, operation and error codes, and the requests and replies
// this server speaks.
//
// It owns bytes and their meaning and knows nothing of znodes, sessions or
// sockets. It is pure; the server's connection goroutines decode with it and
// the server's core encodes with it. Every decoder is bounded by the length of
// the frame it is given: a count or a length that the frame cannot hold is an
// error before anything is allocated.
//
//	req, err := proto.DecodeRequest(frame)          // frame without its length
//	out = proto.AppendReply(out, req.Xid, zxid, 0)  // begins a frame ...
//	out = proto.FinishFrame(out, start)             // ... and closes it
//
// Source: zookeeper.jute and the classes of org.apache.zookeeper of 3.8.
package proto
