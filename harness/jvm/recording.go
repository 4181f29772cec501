package kafka

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
)

// Jcmd finds the program that speaks to a running JVM: beside java, where that is
// a JDK's.
func (i Installation) Jcmd() (string, error) {
	java, err := exec.LookPath(i.Java)
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	if err != nil {
		return "", err
	}
	jcmd, err := exec.LookPath(filepath.Join(filepath.Dir(java), "jcmd"))
	if err != nil {
		return "", fmt.Errorf("%w; jcmd comes with a JDK (Debian: openjdk-17-jdk-headless)", err)
	}
	return jcmd, nil
}

// RecordFlags have a JVM record itself into a ring of files among the node's own:
// those elsewhere would outlive a JVM that is killed.
func (l Place) RecordFlags() []string {
	return []string{
		"-XX:StartFlightRecording=settings=profile,maxsize=64m",
		"-XX:FlightRecorderOptions=repository=" + path.Join(path.Dir(l.Data), "recording"),
	}
}

// DumpArgs are the arguments of jcmd that have the JVM of a pid write what it has
// recorded to a file.
func DumpArgs(pid int, file string) []string {
	return []string{strconv.Itoa(pid), "JFR.dump", "filename=" + file}
}
