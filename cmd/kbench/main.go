package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main as a function: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	code, text := 0, ""
	if err != nil {
		code, text = exitOf(err)
	}
	if text != "" {
		_, _ = fmt.Fprintln(stderr, text)
	}
	return code
}

// The exit codes of every command; 130 and 143 are SIGINT and SIGTERM.
const (
	exitMissed  = 1 // a threshold or gate was missed
	exitUsage   = 2 // usage or bad input
	exitInvalid = 3 // invalid, inconclusive, too few samples, or it could not run
)

// exitError ends the process with a code. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// verdict ends a command with the code of what it judged. err is what failed
// beside that, such as a file that could not be written: it is told, and makes a
// code of its own only where the verdict was good.
func verdict(code int, err error) error {
	if code == 0 {
		return err
	}
	return &exitError{code, err}
}

// badInput marks an error that the user can mend.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// exitOf gives code and text of an error. One that is not marked is a failure
// at run time: nothing valid came out.
func exitOf(err error) (code int, text string) {
	var e *exitError
	if !errors.As(err, &e) {
		return exitInvalid, "kbench: " + strings.TrimSpace(err.Error())
	}
	if e.err == nil {
		return e.code, ""
	}
	return e.code, strings.TrimSpace(e.err.Error())
}
