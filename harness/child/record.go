package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Record writes pid and the kernel's start time of that process: a pid
// alone may have been given to somebody else since.
func Record(file string, pid int) error {
	return os.WriteFile(file, []byte(Identity(pid)+"\n"), 0o644)
}

// Identity is what Record writes, on one line.
func Identity(pid int) string {
	start, _ := startTime(pid) // a child that is gone already has none
	return fmt.Sprintf("%d %s", pid, start)
}

// Pid is that of the process of an identity, 0 where it names none.
func Pid(identity string) int {
	pid, _, err := parse(identity)
	if err != nil {
		return 0
	}
	return pid
}

// Lives reports whether the process of an identity still runs.
func Lives(identity string) bool {
	pid, start, err := parse(identity)
	if err != nil {
		return false
	}
	now, err := startTime(pid)
	return err == nil && now == start
}

// Recorded reads a file that Record wrote.
func Recorded(file string) (pid int, start string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, "", err
	}
	if pid, start, err = parse(string(b)); err != nil {
		return 0, "", fmt.Errorf("%s does not hold a pid", file)
	}
	return pid, start, nil
}

func parse(identity string) (pid int, start string, err error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(identity), " ")
	pid, err = strconv.Atoi(first)
	if err != nil || pid <= 1 {
		return 0, "", fmt.Errorf("%q names no process", identity)
	}
	return pid, rest, nil
}

// Alive reports whether the process of the file still runs.
func Alive(file string) bool {
	b, err := os.ReadFile(file)
	return err == nil && Lives(string(b))
}

// startTime reads field 22 of /proc/PID/stat (proc(5)); a zombie counts as gone.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return "", fmt.Errorf("process %d is gone", pid)
	}
	return fields[19], nil
}
