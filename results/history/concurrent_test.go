package history

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kbench/results/simulated"
)

// asAdder makes this test binary a process that adds nights: PATH FIRST COUNT.
const asAdder = "KBENCH_TEST_HISTORY_ADDER"

func TestMain(m *testing.M) {
	if args := strings.Fields(os.Getenv(asAdder)); len(args) == 3 {
		if err := addFrom(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func addFrom(args []string) error {
	from, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for i := from; i < from+count; i++ {
		r, err := simulated.New(truth(i))
		if err != nil {
			return err
		}
		n, err := FromRun(r)
		if err != nil {
			return err
		}
		if _, err := Add(args[0], n); err != nil {
			return err
		}
		fmt.Println(n.Run)
	}
	return nil
}

func adder(t *testing.T, path string, from, count int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", asAdder, path, from, count))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestConcurrentAdds: six processes add overlapping nights while readers
// read and prune; nothing is lost, nothing doubled, no reader sees
// half a line.
func TestConcurrentAdds(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	const processes, each, shared = 6, 10, 4
	var cmds []*exec.Cmd
	for p := range processes {
		cmd := adder(t, path, p*(each-shared), each) // the last four are the next one's first
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	done := make(chan error, 1)
	go func() {
		var failed error
		for _, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				failed = err
			}
		}
		done <- failed
	}()
	reads := 0
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		l := mustRead(t, path)
		if len(l.Notes) > 0 {
			t.Fatalf("a reader saw %v", l.Notes)
		}
		if _, err := Prune(path, Keep{Before: first.AddDate(-1, 0, 0)}); err != nil {
			t.Fatal(err)
		}
		reads++
	}
	l := mustRead(t, path)
	want := processes*(each-shared) + shared
	b, _ := os.ReadFile(path)
	if lines := strings.Count(string(b), "\n"); len(l.Nights) != want || lines != want {
		t.Errorf("%d nights in %d lines, want %d", len(l.Nights), lines, want)
	}
	if got := names(l); !slices.IsSorted(got) || len(slices.Compact(got)) != want {
		t.Errorf("nights %v", got)
	}
	if reads == 0 {
		t.Error("nobody read meanwhile")
	}
}

// TestKilledAdders: processes are killed while they add; every run whose add
// had returned stays, and the history is whole after the next add.
func TestKilledAdders(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	var added []string
	for round := range 5 {
		cmd := adder(t, path, round*1000, 1000)
		cmd.Stderr = nil
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(out)
		for range 3 + round {
			if !sc.Scan() {
				t.Fatal("the process ended by itself")
			}
			added = append(added, sc.Text())
		}
		_ = cmd.Process.Kill()
		for sc.Scan() {
			added = append(added, sc.Text())
		}
		_ = cmd.Wait()
	}
	mustAdd(t, path, night(t, truth(99_999)))
	l := mustRead(t, path)
	for _, name := range added {
		if !slices.Contains(names(l), name) {
			t.Errorf("%s was added and is not there", name)
		}
	}
	if len(l.Notes) != 0 || len(added) < 25 {
		t.Errorf("%d added, notes %v", len(added), l.Notes)
	}
}
