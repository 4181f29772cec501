// Package images makes the contexts that Docker images are built from, with
// nothing fetched: the node image from the running binary, a Java runtime from
// the one this machine has, ZooKeeper and Kafka from this machine's jars.
//
// It owns what is in an image and how it is named and must not know how an
// engine is talked to: a Build is a name, labels and a tar stream. harness/docker
// builds it, `go run ./docker/build` does so by hand. All functions may be
// called from any goroutine.
//
// Names begin with kbench.local/, a registry that does not exist: an image that
// is missing fails at once and is never looked for elsewhere. The tag is a
// digest of the content, so an image that is there is never built again.
//
//	b, err := images.Node("/proc/self/exe")
//	fmt.Println(b.Name)              // kbench.local/node:1f2e...
//	engine.Build(ctx, b.Context())   // a tar with a Dockerfile
package images
