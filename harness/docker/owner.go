package docker

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/testcontainers/testcontainers-go"
)

// The labels of everything a run makes. A pid alone may be somebody else's by
// now, so its start time is beside it; both mean something on one host only.
const (
	labelRun     = "kbench.run"
	labelHost    = "kbench.host"
	labelPID     = "kbench.pid"
	labelStarted = "kbench.started"
)

// ownLabels mark what this process makes for a run.
func ownLabels(run string) map[string]string {
	labels := testcontainers.GenericLabels()
	maps.Copy(labels, map[string]string{
		labelRun: run, labelHost: hostName(), labelPID: strconv.Itoa(os.Getpid()), labelStarted: startTime(os.Getpid()),
	})
	return labels
}

// alive says whether the owner of the labels still runs. An owner on another
// host is taken for alive: this one cannot know.
func alive(labels map[string]string) bool {
	if labels[labelHost] != hostName() {
		return true
	}
	pid, err := strconv.Atoi(labels[labelPID])
	return err == nil && pid > 0 && startTime(pid) == labels[labelStarted] && labels[labelStarted] != ""
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// startTime is field 22 of /proc/PID/stat (proc(5)), "" for a process that is
// gone or a zombie.
func startTime(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
