package conformance_test

import (
	"bufio"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/zkserver"
	"kbench/internal/zkserver/conformance"
)

const tick = 250 * time.Millisecond

// TestMain lets the test binary be the server, as a process that can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KBENCH_TEST_ZKSERVER_DIR"); dir != "" {
		if err := serve(dir, os.Getenv("KBENCH_TEST_ZKSERVER_LISTEN")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func serve(dir, listen string) error {
	s, err := zkserver.New(zkserver.Config{
		Listen: listen, DataDir: dir, TickTime: tick, CompactAt: 256 << 10,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Println(s.Addr())
	go func() { // ends with its starter
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(3)
	}()
	return s.Serve()
}

// embedded is the server as a child process.
type embedded struct {
	dir, addr string
	cmd       *exec.Cmd
}

func (e *embedded) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	listen := e.addr
	if listen == "" {
		listen = fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t))
	}
	cmd.Env = append(os.Environ(), "KBENCH_TEST_ZKSERVER_DIR="+e.dir, "KBENCH_TEST_ZKSERVER_LISTEN="+listen)
	log, err := os.OpenFile(e.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.cmd = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		text, _ := os.ReadFile(e.dir + ".log")
		t.Fatalf("the server did not start: %s", text)
	}
	e.addr = strings.TrimSpace(line)
}

func (e *embedded) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

func TestEmbedded(t *testing.T) {
	e := &embedded{dir: t.TempDir() + "/data"}
	e.start(t)
	t.Cleanup(func() {
		e.kill()
		if t.Failed() {
			text, _ := os.ReadFile(e.dir + ".log")
			t.Logf("server log:\n%s", text)
		}
	})
	conformance.Run(t, conformance.Store{
		Servers: []string{e.addr}, Tick: tick,
		Restart: func(t *testing.T) {
			e.kill()
			e.start(t)
		},
	})
}
