// Command node plays a kbench node in the tests of the docker provider: it
// answers "boot N" on the port of its first broker, N being the times it has
// been started on its data, and ends with code 0 on SIGTERM. With the argument
// netfault it is the network agent.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"kbench/harness/netfault/agent"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

func run() error {
	if len(os.Args) == 2 && os.Args[1] == "netfault" {
		return agent.Serve(context.Background(), os.Stdin, os.Stdout)
	}
	if len(os.Args) != 4 || os.Args[1] != "node" || os.Args[2] != "--config" {
		return fmt.Errorf("arguments are %q", os.Args)
	}
	b, err := os.ReadFile(os.Args[3])
	if err != nil {
		return err
	}
	var cfg struct {
		DataDir, TraceFile string
		Brokers            []struct {
			Host string
			Port int
		}
	}
	if err := json.Unmarshal(b, &cfg); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o755); err != nil {
		return err
	}
	boots := 0
	counter := filepath.Join(cfg.DataDir, "boots")
	if b, err := os.ReadFile(counter); err == nil {
		_, _ = fmt.Sscan(string(b), &boots)
	}
	boots++
	if err := os.WriteFile(counter, fmt.Append(nil, boots), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(cfg.TraceFile, fmt.Appendf(nil, "{\"boot\":%d}\n", boots), 0o644); err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", cfg.Brokers[0].Host, cfg.Brokers[0].Port))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "up", boots)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "boot %d\n", boots)
			_ = c.Close()
		}
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	return nil
}
