package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// untilSignal gives a context that the first SIGINT, SIGTERM or SIGHUP ends, and
// the signal that did. A second one ends the process at once. A SIGHUP that
// nohup had ignored stays ignored; SIGPIPE is an error of the write and no more,
// also after stop, when the result is printed, so that `kbench run 2>&1 | head`
// leaves nothing behind.
func untilSignal(parent context.Context) (ctx context.Context, signalled func() os.Signal, stop func()) {
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	pipes := make(chan os.Signal, 1) // nobody reads it
	signal.Notify(pipes, syscall.SIGPIPE)
	return heed(parent, wanted...)
}

// heed gives a context that the first of the wanted signals ends, and the
// signal that did. A second one ends the process at once.
func heed(parent context.Context, wanted ...os.Signal) (ctx context.Context, signalled func() os.Signal, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, wanted...)
	var got atomic.Value
	stopped := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-signals:
				if got.Load() != nil {
					os.Exit(signalCode(s))
				}
				got.Store(s)
				cancel()
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() os.Signal {
			s, _ := got.Load().(os.Signal)
			return s
		}, func() {
			signal.Stop(signals)
			close(stopped)
			<-ended
			cancel()
		}
}

// signalCode is the shell's: 128 and the signal's number.
func signalCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitInvalid
}

// signalExit is the exit of a command that a signal ended; nil without one.
func signalExit(s os.Signal) error {
	if s == nil {
		return nil
	}
	return &exitError{code: signalCode(s)}
}
