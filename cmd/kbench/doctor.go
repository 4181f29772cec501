package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kbench/harness/docker"
	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/netns"
	"kbench/harness/zookeeper"
	"kbench/results"
)

// finding is one line of the doctor: what is here, and how to get the rest.
type finding struct {
	state string // ok, warn or no
	what  string
	value string
	cure  string // empty where nothing is missing
}

func newDoctor() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do and how to get the rest",
		Long: `Doctor looks at the machine, the data directory, Java, ZooKeeper, Kafka, Docker
and the rights of this user. A line that says warn or no has the cure below it. Nothing
but kbench itself is needed to run the built-in comparison.`,
		Example: "  kbench doctor\n  kbench doctor --data-dir /mnt/fast",
		Args:    atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := results.CheckDir("--data-dir", dataDir); err != nil {
				return badInput(err)
			}
			printFindings(cmd.OutOrStdout(), examine(cmd.Context(), dataDir))
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir(), "where nodes will keep their data")
	return cmd
}

func printFindings(w io.Writer, fs []finding) {
	for _, f := range fs {
		_, _ = fmt.Fprintf(w, "%-4s  %-12s %s\n", f.state, f.what, f.value)
		if f.cure != "" {
			_, _ = fmt.Fprintf(w, "      %-12s %s\n", "", f.cure)
		}
	}
}

func examine(ctx context.Context, dataDir string) []finding {
	env, seen := results.Describe(dataDir)
	java, zk := examineJava(ctx), examineZooKeeper()
	engine := examineDocker(ctx)
	return []finding{
		{"ok", "kbench", toolText(), ""},
		examineCores(env, seen), examineMemory(env), examineFiles(),
		examineDisk(env, seen, dataDir), examineFsync(dataDir),
		java, zk, examineKafka(ctx), engine, examineRights(),
		examineDefaults(zk, engine),
	}
}

func examineCores(e results.Environment, o results.Observed) finding {
	f := finding{"ok", "processor", fmt.Sprintf("%d cores, %s, load %.2f", e.Cores, e.CPU, o.Load1), ""}
	if e.CPUQuota != "" {
		f.value += ", quota of " + e.CPUQuota + " cores"
	}
	switch {
	case e.Cores < 2:
		f.state, f.cure = "warn", "one core runs brokers, controllers and load in turn: use at least two"
	case o.Load1 > float64(e.Cores)/2:
		f.state, f.cure = "warn", "something else is running: numbers will be noisy; wait until the load is under "+strconv.Itoa((e.Cores+1)/2)
	}
	return f
}

func examineMemory(e results.Environment) finding {
	f := finding{"ok", "memory", fmt.Sprintf("%d MB", e.MemoryMB), ""}
	if e.MemoryMB < 3000 {
		f.state, f.cure = "warn", "enough for some ten thousand partitions; 100k need about 4 GB"
	}
	return f
}

func examineFiles() finding {
	const want = 4096
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return finding{"warn", "open files", "unknown: " + err.Error(), ""}
	}
	f := finding{"ok", "open files", fmt.Sprintf("%d allowed", l.Cur), ""}
	if l.Cur < want {
		f.state, f.cure = "warn", fmt.Sprintf("clusters of hundreds of brokers need %d: ulimit -n %d", want, want)
	}
	return f
}

func examineDisk(e results.Environment, o results.Observed, dir string) finding {
	f := finding{"ok", "data", fmt.Sprintf("%s on %s, %d MB free", dir, e.FileSystem, o.FreeMB), ""}
	switch {
	case e.OnMemory():
		f.state, f.cure = "warn", "a memory file system: fsync costs nothing and nothing is durable; use --data-dir on a disk"
	case o.FreeMB < 2000:
		f.state, f.cure = "warn", "little space: a run at 100k partitions writes up to 2 GB; use --data-dir on another disk"
	}
	return f
}

// examineFsync measures in the data directory or the nearest one above it.
func examineFsync(dir string) finding {
	for dir != filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	took, err := results.ProbeFsync(dir, 20)
	if err != nil {
		return finding{"no", "fsync", err.Error(), "use --data-dir on a disk that can be written"}
	}
	f := finding{"ok", "fsync", fmt.Sprintf("median %s of 20 appends", took.Round(time.Microsecond)), ""}
	switch {
	case took > 20*time.Millisecond:
		f.state, f.cure = "warn", "slow: every commit of both controllers waits for it; a local SSD takes 1 ms or less"
	case took < 20*time.Microsecond:
		f.state, f.cure = "warn", "too fast to be durable: the disk or its file system does not wait for the medium"
	}
	return f
}

func examineJava(ctx context.Context) finding {
	path := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path = filepath.Join(home, "bin", "java")
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return finding{"no", "Java", "not found", "a real ZooKeeper without Docker needs it: apt-get install default-jre-headless, or set JAVA_HOME"}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, found, "-version").CombinedOutput()
	if err != nil {
		return finding{"no", "Java", fmt.Sprintf("%s does not run: %v", found, err), "reinstall it, or set JAVA_HOME"}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return finding{"ok", "Java", fmt.Sprintf("%s at %s", first, found), ""}
}

func examineZooKeeper() finding {
	inst, err := zookeeper.Find()
	if err != nil {
		return finding{"no", "ZooKeeper", "no real one; the zk target runs on the embedded store, which is single and not replicated", err.Error()}
	}
	return finding{"ok", "ZooKeeper", fmt.Sprintf("%s from %s", inst.Version, inst.Source), ""}
}

func examineDocker(ctx context.Context) finding {
	version, err := docker.Ask(ctx)
	if err != nil {
		what, cure, _ := strings.Cut(err.Error(), "; ")
		return finding{"no", "Docker", what, cure + "; without it nodes are processes on this machine"}
	}
	return finding{"ok", "Docker", "engine " + version, ""}
}

// examineRights looks for what network faults of the process provider need: a
// network namespace for each node.
func examineRights() finding {
	f := finding{"ok", "rights", fmt.Sprintf("user %d", os.Geteuid()), ""}
	if err := netns.Check(); err != nil {
		f.state, f.value = "no", f.value+", no network namespaces"
		f.cure = err.Error() + "; faults of the network (how: isolate, cut) between processes need them; or use --provider docker"
		return f
	}
	f.value += ", network namespaces can be made: links between processes can be cut"
	delay := []netfault.Fault{{Kind: netfault.Delay, Delay: time.Millisecond}}
	if err := netns.Try(func() error { return agent.Check(delay) }); err != nil {
		f.state, f.value = "warn", f.value+", not be slow"
		f.cure = "network.delay is refused: " + err.Error()
	}
	return f
}

// examineDefaults says what `kbench run` would choose by itself.
func examineDefaults(zk, engine finding) finding {
	provider, store := "process", "embedded"
	if engine.state == "ok" {
		provider, store = "docker", "zookeeper"
	} else if zk.state == "ok" {
		store = "zookeeper"
	}
	return finding{"ok", "kbench run", fmt.Sprintf("uses --provider %s and --store %s here", provider, store), ""}
}
