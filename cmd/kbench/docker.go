package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"kbench/docker/images"
	"kbench/harness/docker"
	"kbench/harness/provider"
)

// askDocker gives the version of the engine that answers, if this binary can
// run in its containers.
func askDocker(ctx context.Context) (version string, err error) {
	if version, err = docker.Ask(ctx); err != nil {
		return "", err
	}
	binary, err := docker.Binary()
	if err != nil {
		return "", err
	}
	_, err = images.Node(binary)
	return version, err
}

// dockerPlace runs nodes as containers of this very binary.
func dockerPlace() place {
	return place{
		provider: "docker",
		open: func(ctx context.Context, name string) (provider.Provider, error) {
			binary, err := docker.Binary()
			if err != nil {
				return nil, err
			}
			return docker.New(ctx, docker.Config{Name: name, Binary: binary})
		},
	}
}

// cleanDocker removes what runs left on the engine: of owners that mine knows,
// where it is not nil, else of all, and with the images that nothing uses. Without
// an engine there is nothing to look at.
func cleanDocker(cmd *cobra.Command, mine func(owner string) bool) (removed []string, err error) {
	if _, err := docker.Ask(cmd.Context()); err != nil {
		return nil, nil
	}
	if removed, err = docker.Sweep(cmd.Context(), mine); mine != nil {
		return removed, err
	}
	images, ierr := docker.SweepImages(cmd.Context())
	return append(removed, images...), errors.Join(err, ierr)
}
