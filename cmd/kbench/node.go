package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"kbench/cmd/kbench/node"
	"kbench/internal/nodeconfig"
)

func newNode() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "node --config FILE",
		Short: "Run one node of a cluster",
		Long: `Node runs one process of a cluster: brokers, a controller or the embedded store.
Providers start it; it can be run by hand too. SIGTERM is a controlled shutdown,
which waits for the controller for five minutes at most; a second one ends the
node at once, with 143.

Listeners are plain unless the file's security says otherwise: TLS and SASL by
listener, users, super users, the authorizer; docs/security.md has them all. The rest of the
file is in docs/nodes.md.`,
		Example: `  kbench node --config broker-1.json

  # broker-1.json, a broker of KRaft mode:
  {"name": "broker-1", "role": "broker", "mode": "kraft",
   "clusterId": "MkU3OEVBNTcwNTJENDM2Qg", "dataDir": "broker-1",
   "quorum": {"bootstrap": ["127.0.0.1:9093"]},
   "brokers": [{"id": 1, "host": "127.0.0.1", "port": 9092}]}

  # controller-1001.json, with a directory of kbench node format; fixed voters are
  # "voters": [{"id": 1001, "host": "127.0.0.1", "port": 9093}] in place of the
  # last three:
  {"name": "controller-1001", "role": "controller", "mode": "kraft",
   "clusterId": "MkU3OEVBNTcwNTJENDM2Qg", "dataDir": "controller-1001",
   "quorum": {"nodeId": 1001, "host": "127.0.0.1", "port": 9093, "bootstrap": ["127.0.0.1:9093"]}}

  # a listener with TLS and SCRAM, and the ACLs of the metadata, in broker-1.json:
  "security": {
    "interBroker": "SASL_SSL",
    "listeners": {"SASL_SSL": {"protocol": "SASL_SSL", "mechanisms": ["SCRAM-SHA-512"]}},
    "tls": {"certificate": "node.pem", "key": "node-key.pem", "ca": "ca.pem"},
    "sasl": {"username": "admin", "password": "admin-secret"},
    "authorizer": true, "superUsers": ["User:admin"]
  }`,
		Args: atMost(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return badInput(errors.New("--config is missing or empty; name the node's configuration file"))
			}
			cfg, err := nodeconfig.Load(file)
			if err != nil {
				return badInput(err)
			}
			node.Lifeline(func() { os.Exit(exitInvalid) })
			ctx, _, stop := heed(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runNode(ctx, cfg, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the node's configuration, JSON")
	cmd.AddCommand(newNodeFormat())
	return cmd
}

// runNode runs a node. An address that it cannot have is bad input, as is a
// directory; for want of an address a data directory that it had to create goes
// again.
func runNode(ctx context.Context, cfg *nodeconfig.Config, log *slog.Logger) error {
	_, statErr := os.Stat(cfg.DataDir)
	err := node.Run(ctx, cfg, log)
	if bad := (*node.ListenError)(nil); errors.As(err, &bad) {
		if errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(cfg.DataDir))
		}
		return badInput(err)
	}
	if bad := (*node.ConfigError)(nil); errors.As(err, &bad) {
		return badInput(err)
	}
	return err
}
