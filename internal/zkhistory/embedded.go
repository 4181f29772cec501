package zkhistory

import "kbench/internal/zkserver/txnlog"

// Embedded reads the log of the embedded server, which may run.
func Embedded(dataDir string) Source {
	return func(yield func(Change) error) error {
		return txnlog.Read(txnlog.OS(), dataDir, newTracker(yield).apply)
	}
}
