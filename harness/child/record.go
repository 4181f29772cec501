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
	start, _ := startTime(pid) // a child that is gone already has none
	return os.WriteFile(file, fmt.Appendf(nil, "%d %s\n", pid, start), 0o644)
}

// Recorded reads a file that Record wrote.
func Recorded(file string) (pid int, start string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, "", err
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	pid, err = strconv.Atoi(first)
	if err != nil || pid <= 1 {
		return 0, "", fmt.Errorf("%s does not hold a pid", file)
	}
	return pid, rest, nil
}

// Alive reports whether the process of the file still runs.
func Alive(file string) bool {
	pid, start, err := Recorded(file)
	if err != nil {
		return false
	}
	now, err := startTime(pid)
	return err == nil && now == start
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
