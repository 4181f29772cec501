package results

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Environment is what makes two runs comparable: it is hashed whole.
type Environment struct {
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel"`
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	GoMaxProcs int               `json:"gomaxprocs"`         // with cgroup quota, as Go sees it
	CPUQuota   string            `json:"cpuQuota,omitempty"` // of the cgroup, in cores
	MemoryMB   int64             `json:"memoryMb"`           // rounded to 256 MB: the kernel keeps a varying part
	FileSystem string            `json:"fileSystem"`         // of the data directory
	Versions   map[string]string `json:"versions,omitempty"` // of what was run: ZooKeeper, Java, Docker
}

// Observed are values of the moment. They have a tolerance and are not hashed.
type Observed struct {
	Load1    float64       `json:"load1"`   // run queue over one minute, -1 where unknown
	FsyncP50 time.Duration `json:"fsyncNs"` // median of an 4 KiB append and fsync in the data directory, 0 where not probed
	FreeMB   int64         `json:"freeMb"`  // disk space for the data directory
}

// memoryFileSystems lose their data with the machine and make fsync free.
var memoryFileSystems = map[string]bool{"tmpfs": true, "ramfs": true}

// OnMemory reports whether the data directory is on a memory file system,
// where fsync costs nothing and nothing is durable.
func (e Environment) OnMemory() bool { return memoryFileSystems[e.FileSystem] }

// Hash identifies the environment.
func (e Environment) Hash() string {
	b, err := json.Marshal(e)
	if err != nil {
		panic("results: environment: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Describe reads the machine and the file system of dataDir, which need not
// exist yet. What cannot be read is "unknown".
func Describe(dataDir string) (Environment, Observed) {
	e := Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(),
		Cores: runtime.NumCPU(), GoMaxProcs: runtime.GOMAXPROCS(0), CPUQuota: cpuQuota(), FileSystem: "unknown",
	}
	o := Observed{Load1: load1()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		mb := int64(info.Totalram) * int64(info.Unit) >> 20
		e.MemoryMB = (mb + 128) / 256 * 256
	}
	var fs unix.Statfs_t
	if unix.Statfs(existingParent(dataDir), &fs) == nil {
		e.FileSystem = fileSystemName(fs.Type)
		o.FreeMB = int64(fs.Bavail) * fs.Bsize >> 20
	}
	return e, o
}

// existingParent is dir or the nearest directory above it that exists.
func existingParent(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

func fileSystemName(magic int64) string {
	names := map[int64]string{
		0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x01021994: "tmpfs", 0x858458f6: "ramfs",
		0x794c7630: "overlay", 0x6969: "nfs", 0x2fc12fc1: "zfs", 0x65735546: "fuse", 0xF2F52010: "f2fs", 0x01021997: "9p",
	}
	if n, ok := names[magic&0xffffffff]; ok {
		return n
	}
	return fmt.Sprintf("0x%x", magic&0xffffffff)
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if key, value, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// cpuQuota reads cgroup v2 and v1; empty means no limit.
func cpuQuota() string {
	if b, err := os.ReadFile("/sys/fs/cgroup/cpu.max"); err == nil {
		if f := strings.Fields(string(b)); len(f) == 2 {
			return quotient(f[0], f[1])
		}
	}
	q, err1 := os.ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	p, err2 := os.ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	if err1 != nil || err2 != nil {
		return ""
	}
	return quotient(strings.TrimSpace(string(q)), strings.TrimSpace(string(p)))
}

func quotient(quota, period string) string {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return ""
	}
	return strconv.FormatFloat(q/p, 'f', 2, 64)
}

func load1() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return v
}

// ProbeFsync measures n appends of 4 KiB, each with an fsync, in a file of its
// own in dir, which must exist, and removes the file. It returns the median.
func ProbeFsync(dir string, n int) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".kbench-fsync-*")
	if err != nil {
		return 0, fmt.Errorf("probe fsync: %w", err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	block := make([]byte, 4096)
	took := make([]float64, 0, n)
	for range n {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, fmt.Errorf("probe fsync: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("probe fsync: %w", err)
		}
		took = append(took, float64(time.Since(start)))
	}
	s, err := Summarize(took)
	if err != nil {
		return 0, fmt.Errorf("probe fsync: %w", err)
	}
	return time.Duration(s.Median), nil
}
