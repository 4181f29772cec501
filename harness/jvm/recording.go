package jvm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Jcmd finds the program that speaks to a running JVM: beside java, where that is
// a JDK's.
func Jcmd(java string) (string, error) {
	java, err := exec.LookPath(java)
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

// RecordFlags have a JVM record itself into a ring of files in dir, among the node's
// own: those elsewhere would outlive a JVM that is killed.
func RecordFlags(dir string) []string {
	return []string{
		"-XX:StartFlightRecording=settings=profile,maxsize=64m",
		"-XX:FlightRecorderOptions=repository=" + dir,
	}
}

// DumpArgs are the arguments of jcmd that have the JVM of a pid write what it has
// recorded to a file.
func DumpArgs(pid int, file string) []string {
	return []string{strconv.Itoa(pid), "JFR.dump", "filename=" + file}
}

// Dump has the JVM of a pid, which java runs on, write what it has recorded to a
// file.
func Dump(ctx context.Context, java string, pid int, file string) error {
	jcmd, err := Jcmd(java)
	if err == nil {
		file, err = filepath.Abs(file) // the JVM's own directory is another
	}
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, jcmd, DumpArgs(pid, file)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", jcmd, err, bytes.TrimSpace(out[max(0, len(out)-600):]))
	}
	return nil
}
