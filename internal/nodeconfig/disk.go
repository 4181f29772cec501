package nodeconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// DiskFault is what is wrong with a node's disk. The zero value is nothing. It is
// in the file that Config.DiskFaults names, which a node reads at its start and
// at each SIGUSR1.
type DiskFault struct {
	// Seq tells one fault from another: the node's trace names it.
	Seq        int64    `json:"seq"`
	FsyncDelay Duration `json:"fsyncDelay,omitempty"` // of every fsync
	FsyncError bool     `json:"fsyncError,omitempty"` // every fsync fails (EIO)
	Full       bool     `json:"full,omitempty"`       // every write fails (ENOSPC)
	// LogDir is the number, from 1, of the log directory of each broker in which
	// every fsync fails (EIO); 0 for none. What is above is not of log directories.
	LogDir int `json:"logDir,omitempty"`
}

// Wrong reports whether anything is.
func (f DiskFault) Wrong() bool { return f.FsyncDelay > 0 || f.FsyncError || f.Full || f.LogDir > 0 }

// JSON is the content of the file.
func (f DiskFault) JSON() []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic("nodeconfig: a disk fault cannot be written: " + err.Error())
	}
	return append(b, '\n')
}

// ReadDiskFault reads the file; one that is not there says that nothing is wrong.
func ReadDiskFault(path string) (DiskFault, error) {
	var f DiskFault
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return DiskFault{}, fmt.Errorf("read the disk's faults: %w", err)
	}
	return f, nil
}
