package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kbench/harness/spec"
)

const rootLong = `kbench measures what the way a cluster keeps its metadata costs when brokers
stop, controllers die and partitions grow: a ZooKeeper-style controller and a
KRaft quorum, side by side, under the same load and the same faults.

Exit codes: 0 valid (and passed), 1 a threshold or gate missed, 2 usage or bad
input, 3 invalid, inconclusive or too few samples, 130 SIGINT, 143 SIGTERM.`

// newRoot builds the command tree.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "kbench",
		Short:         "Compare ZooKeeper-style and KRaft metadata control planes",
		Long:          rootLong,
		Example:       "  kbench run\n  kbench run nightly.yaml --partitions 1k,10k,100k --trials 10\n  kbench doctor",
		Version:       toolText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRun(), newAB(), newGate(), newReport(), newCompare(), newVerify(), newHistory(), newList(), newDoctor(), newClean(), newVersion(), newSchema(), newNode(), newNetfault(), newPlan(), newSelftest(),
	)
	root.SetHelpCommand(newHelp(root))
	return root
}

// unknownCommand judges words after `kbench` that name no command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return badInput(fmt.Errorf("unknown command %q; %s", args[0], didYouMean(args[0], commandNames(cmd), "`kbench help` lists them")))
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func didYouMean(word string, names []string, otherwise string) string {
	if s := spec.Suggest(word, names); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return otherwise
}

// flagError names the flag that was meant instead of dumping the usage.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		cure := fmt.Sprintf("`%s --help` lists them", cmd.CommandPath())
		if s := spec.Suggest(name, names); s != "" {
			cure = fmt.Sprintf("did you mean --%s?", s)
		}
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return badInput(fmt.Errorf("unknown flag %s%s; %s", dashes, name, cure))
	}
	return badInput(fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath()))
}

// atMost judges the number of words after a command.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return badInput(fmt.Errorf("%s takes %s, got %d: %s; leave out %s, or see `%s --help`",
				cmd.CommandPath(), what, len(args), quoted(args), quoted(args[n:]), cmd.CommandPath()))
		}
		return nil
	}
}

// exactly judges words that must be there.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return badInput(fmt.Errorf("%s takes %s, got %d; see `%s --help`", cmd.CommandPath(), what, len(args), cmd.CommandPath()))
		}
		return nil
	}
}

func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = fmt.Sprintf("%q", a)
	}
	return strings.Join(out, " ")
}

// newHelp is cobra's help command with an exit code for unknown topics.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				word := args[len(args)-1]
				if len(rest) > 0 {
					word = rest[0]
				}
				return badInput(fmt.Errorf("no help on %q; %s", word, didYouMean(word, commandNames(root), "`kbench help` lists the commands")))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
