// Package diskfault is a disk that can be made slow, failing or full while a node
// runs: a layer between what a node writes and the files.
//
// It owns the faults of writes and of fsyncs and tells of each that it met
// somebody, and that it is over; it must not know whose files they are. A node
// puts its file layers over it where its configuration asks for it. A Disk's
// methods may be called from any goroutine.
//
//	d := diskfault.New(func(b diskfault.Bite) { trace.Emit(...) })
//	d.Set(nodeconfig.DiskFault{Seq: 1, FsyncDelay: 50ms})
//	err := d.Sync(file.Sync)
package diskfault
