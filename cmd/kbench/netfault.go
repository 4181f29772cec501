package main

import (
	"syscall"

	"github.com/spf13/cobra"

	"kbench/harness/netfault/agent"
)

// newNetfault is the program that providers run in the network namespace of a
// node. Nobody needs it by hand, so that it is not listed.
func newNetfault() *cobra.Command {
	return &cobra.Command{
		Use:    "netfault",
		Short:  "Make network faults in the network namespace that this runs in",
		Hidden: true,
		Long: `Netfault obeys lines of JSON on its input: it drops, delays or bounds the packets of
the network namespace that it runs in, and looks what passes. It undoes everything
when its input ends. It needs CAP_NET_ADMIN.`,
		Example: `  echo '{"id":1,"do":"set","faults":[{"kind":"cut"}]}' | ip netns exec NAME kbench netfault`,
		Args:    atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The end of the input is what ends it: a terminal's Ctrl-C is
			// kbench's own.
			ctx, _, stop := heed(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return agent.Serve(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
