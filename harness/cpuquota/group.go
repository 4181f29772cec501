package cpuquota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// period is the kernel's own default: a group that has used its quota up stands
// still for the rest of it.
const period = 100 * time.Millisecond

// Group is a control group with a quota.
type Group struct {
	dir    string
	parent string
	two    bool // version 2
}

// Limit puts a process, with all its threads, into a group of its own whose quota
// is percent of one processor.
func Limit(name string, pid, percent int) (*Group, error) {
	parent, two, err := own()
	if err != nil {
		return nil, err
	}
	g := &Group{dir: filepath.Join(parent, fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), name)), parent: parent, two: two}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a control group: %w; run kbench as root, or in a control group of its own", err)
	}
	if err = g.set(percent); err == nil {
		err = write(filepath.Join(g.dir, "cgroup.procs"), strconv.Itoa(pid))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bound the processor time of %s: %w", name, err), g.Close())
	}
	return g, nil
}

func (g *Group) set(percent int) error {
	quota := int64(period/time.Microsecond) * int64(percent) / 100
	if g.two {
		return write(filepath.Join(g.dir, "cpu.max"), fmt.Sprintf("%d %d", quota, period/time.Microsecond))
	}
	return errors.Join(
		write(filepath.Join(g.dir, "cpu.cfs_period_us"), fmt.Sprint(int64(period/time.Microsecond))),
		write(filepath.Join(g.dir, "cpu.cfs_quota_us"), fmt.Sprint(quota)))
}

// Periods are those in which the group ran under its quota, and those in which it
// was made to wait.
func (g *Group) Periods() (periods, throttled int64, err error) { return stat(g.dir) }

// Close takes the processes out of the group and removes it. It is idempotent.
func (g *Group) Close() error {
	b, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, pid := range strings.Fields(string(b)) {
		err = errors.Join(err, ignore(write(filepath.Join(g.parent, "cgroup.procs"), pid), syscall.ESRCH))
	}
	for range 100 { // a process that is just ending keeps it for a moment
		if rerr := os.Remove(g.dir); rerr == nil || errors.Is(rerr, os.ErrNotExist) {
			return err
		} else if !errors.Is(rerr, syscall.EBUSY) {
			return errors.Join(err, rerr)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Join(err, fmt.Errorf("the control group %s does not go", g.dir))
}

// Of reads the counts of the group that a process is in, whoever made it.
func Of(pid int) (periods, throttled int64, err error) {
	dir, _, err := groupOf(strconv.Itoa(pid))
	if err != nil {
		return 0, 0, err
	}
	return stat(dir)
}

func stat(dir string) (periods, throttled int64, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "nr_periods":
			periods = n
		case "nr_throttled":
			throttled = n
		}
	}
	return periods, throttled, nil
}

// prefix begins the names of groups; the owner's pid follows.
const prefix = "kbench-"

// Sweep removes groups whose owner is gone and in which nothing runs, and gives
// their names. Of another pid than 0, it takes those of that owner alone.
func Sweep(of int) ([]string, error) {
	parent, _, err := own()
	if err != nil {
		return nil, nil // where there can be none, none was left
	}
	dirs, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(owner)
		if err != nil || of != 0 && pid != of || syscall.Kill(pid, 0) == nil {
			continue
		}
		if os.Remove(dir) == nil {
			gone = append(gone, "control group "+filepath.Base(dir))
		}
	}
	return gone, nil
}

func own() (dir string, two bool, err error) { return groupOf("self") }

// groupOf finds the directory of a process's group with the cpu controller.
func groupOf(process string) (dir string, two bool, err error) {
	b, err := os.ReadFile("/proc/" + process + "/cgroup")
	if err != nil {
		return "", false, err
	}
	var unified string
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			if controller == "cpu" {
				return mounted("cgroup", "cpu", fields[2], false)
			}
		}
		if fields[0] == "0" {
			unified = fields[2]
		}
	}
	if unified == "" {
		return "", false, errors.New("this system has no control groups with the cpu controller")
	}
	dir, two, err = mounted("cgroup2", "", unified, true)
	if err != nil {
		return "", false, err
	}
	if has, rerr := os.ReadFile(filepath.Join(dir, "cgroup.controllers")); rerr != nil || !strings.Contains(" "+strings.TrimSpace(string(has))+" ", " cpu ") {
		return "", false, errors.New("the control group of kbench has no cpu controller")
	}
	return dir, two, nil
}

// mounted finds where a group of a hierarchy is seen (proc_pid_mountinfo(5)).
func mounted(fstype, option, path string, two bool) (string, bool, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 || right[0] != fstype {
			continue
		}
		if option != "" && !strings.Contains(","+right[2]+",", ","+option+",") {
			continue
		}
		rel, err := filepath.Rel(left[3], path)
		if err != nil || strings.HasPrefix(rel, "..") {
			rel = "."
		}
		return filepath.Join(left[4], rel), two, nil
	}
	return "", false, fmt.Errorf("no %s with %s is mounted", fstype, option)
}

func write(file, text string) error { return os.WriteFile(file, []byte(text), 0o644) }

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
