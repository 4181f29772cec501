package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kbench/harness/spec"
	"kbench/internal/checker"
	"kbench/internal/quorumlog"
	"kbench/internal/zkhistory"
	"kbench/results"
)

func newVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify RUN",
		Short: "Judge an old run again",
		Long: `Verify compares every file of a run folder, but for the reports, which are made
anew, with the digest taken when it was written, and judges the stored histories again by this version's invariants:
acknowledged changes are in the final metadata, the changes of each topic are
linearizable, brokers agree, a leader epoch has one leader, epochs never go back;
in ZooKeeper mode every write of a znode that a controller or a broker made; in
KRaft mode the metadata logs of all voters, which are those of one Raft, and every
record in them. A check that looked at nothing where a cell has something to look
at, since a file was cut or is gone, fails. Exit code 0 means that the run is whole and valid, 3 that it is
not, 2 that it cannot be read: it is no run folder, or files of it are missing,
truncated or damaged.`,
		Example: "  kbench verify kbench-results/latest",
		Args:    exactly(1, "one run folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := results.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			return verifyRun(cmd.OutOrStdout(), r)
		},
	}
}

// verifyRun prints a line for each thing judged and gives the exit code.
func verifyRun(w io.Writer, r *results.Run) error {
	bad := 0
	say := func(ok bool, format string, args ...any) {
		word := "ok  "
		if !ok {
			word = "BAD "
			bad++
		}
		_, _ = fmt.Fprintf(w, "%s %s\n", word, fmt.Sprintf(format, args...))
	}
	err := r.VerifyFiles()
	say(err == nil, "files: %d are what the run wrote%s", len(r.Manifest.Files), because(err))
	if r.Manifest.Digest == "" {
		_, _ = fmt.Fprintln(w, "      manifest.json holds no digest of its own: a change of it cannot be told")
	}
	histories := 0
	judged := func(name string, res checker.Result) {
		say(res.OK(), "%s: %s, looked at %d%s", filepath.Base(name), res.Name, res.Looked, because(errors.New(strings.Join(res.Faults, "; "))))
		if res.Note != "" {
			_, _ = fmt.Fprintf(w, "      %s: %s: %s\n", filepath.Base(name), res.Name, res.Note)
		}
	}
	for _, f := range r.Manifest.Files {
		name, found := strings.CutSuffix(f.Name, checker.FileSuffix)
		if !found {
			continue
		}
		histories++
		h, err := readHistory(filepath.Join(r.Dir, filepath.FromSlash(f.Name)))
		if err != nil {
			say(false, "%s: %v", name, err)
			continue
		}
		for _, res := range checker.CheckCell(h, targetOf(r, name) != string(spec.AttachTarget)) {
			judged(name, res)
		}
	}
	for _, f := range r.Manifest.Files {
		for suffix, judge := range judges {
			name, found := strings.CutSuffix(f.Name, suffix)
			if !found {
				continue
			}
			res, err := judgeFile(filepath.Join(r.Dir, filepath.FromSlash(f.Name)), judge)
			if err != nil {
				say(false, "%s: %v", name, err)
				continue
			}
			judged(name, res)
		}
	}
	for _, lost := range lostHistories(r.Manifest) {
		say(false, "%s", lost)
	}
	if histories == 0 {
		_, _ = fmt.Fprintln(w, "      the run stored no histories: invariants cannot be judged again")
	}
	say(r.Manifest.Verdict == results.Valid, "verdict of the run: %s%s", r.Manifest.Verdict, because(errors.New(strings.Join(r.Manifest.Reasons, "; "))))
	if bad > 0 {
		return &exitError{code: exitInvalid}
	}
	return nil
}

// targetOf gives the target of the cell that a stored history is of, "" where the
// manifest has no such cell.
func targetOf(r *results.Run, stem string) (target string) {
	longest := -1
	for _, c := range r.Manifest.Cells {
		if len(c.ID) > longest && strings.HasPrefix(filepath.Base(stem), c.ID+".") {
			longest, target = len(c.ID), c.Target
		}
	}
	return target
}

// lostHistories names what cells were judged by when they ran and is not in the
// folder any more.
func lostHistories(m results.Manifest) (lost []string) {
	for _, c := range m.Cells {
		for check, suffix := range map[string]string{
			"acknowledged": checker.FileSuffix, zkhistory.ResultName: zkhistory.FileSuffix, quorumlog.ResultName: quorumlog.FileSuffix,
		} {
			judged := slices.ContainsFunc(c.Checks, func(ch results.Check) bool { return ch.Name == check })
			if judged && !slices.ContainsFunc(m.Files, func(f results.File) bool {
				return strings.HasPrefix(path.Base(f.Name), c.ID+".") && strings.HasSuffix(f.Name, suffix)
			}) {
				lost = append(lost, fmt.Sprintf("%s: its check %s was judged by a file %s.*%s, which the run does not have", c.ID, check, c.ID, suffix))
			}
		}
	}
	slices.Sort(lost)
	return lost
}

// judges are those of what a run keeps of its metadata store, by how the names of
// the files end; a name ends in one way.
var judges = map[string]func(io.ReadSeeker) (checker.Result, error){
	zkhistory.FileSuffix: func(r io.ReadSeeker) (checker.Result, error) { return zkhistory.Judge(r) },
	quorumlog.FileSuffix: quorumlog.Judge,
}

func judgeFile(path string, judge func(io.ReadSeeker) (checker.Result, error)) (checker.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return checker.Result{}, err
	}
	defer func() { _ = f.Close() }()
	return judge(f)
}

func because(err error) string {
	if err == nil || err.Error() == "" {
		return ""
	}
	return ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

func readHistory(path string) (checker.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return checker.History{}, err
	}
	defer func() { _ = f.Close() }()
	return checker.Read(f)
}
