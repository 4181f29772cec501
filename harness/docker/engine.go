package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"kbench/docker/images"
)

// answerWithin bounds the question whether an engine is there.
const answerWithin = 1500 * time.Millisecond

// Engine is a Docker engine that answers.
type Engine struct {
	tc      *testcontainers.DockerProvider
	api     client.APIClient
	Version string // of the engine
}

// quiet switches off, before testcontainers reads its settings for the first
// and only time, its reaper and its talk.
var quiet = sync.OnceValue(func() error {
	tclog.SetDefault(tclog.NewNoopLogger())
	return os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
})

// Open connects to the engine that DOCKER_HOST, the docker context or the usual
// socket names. Without one it fails within two seconds and says what to do.
func Open(ctx context.Context) (*Engine, error) {
	if err := quiet(); err != nil {
		return nil, err
	}
	version, err := Ask(ctx)
	if err != nil {
		return nil, err
	}
	tc, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(tclog.NewNoopLogger()))
	if err != nil {
		return nil, fmt.Errorf("connect to Docker: %w", err)
	}
	return &Engine{tc: tc, api: tc.Client(), Version: version}, nil
}

// Ask gives the version of the engine that answers.
func Ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := client.New(client.FromEnv)
	if err != nil {
		return "", fmt.Errorf("DOCKER_HOST or its kin are wrong: %w; write DOCKER_HOST=unix:///var/run/docker.sock or unset it, or use --provider process", err)
	}
	defer func() { _ = c.Close() }()
	v, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", fmt.Errorf("no Docker engine answers at %s: %w; start one, set DOCKER_HOST, or use --provider process", c.DaemonHost(), rootCause(err))
	}
	return v.Version, nil
}

// rootCause drops the client's advice, which is long.
func rootCause(err error) error {
	var connect interface{ Unwrap() error }
	if client.IsErrConnectionFailed(err) && errors.As(err, &connect) {
		if inner := connect.Unwrap(); inner != nil {
			return inner
		}
	}
	return err
}

// Close drops idle connections; it ends nothing on the engine.
func (e *Engine) Close() error { return e.tc.Close() }

// buildWithin bounds the build of an image from local files.
const buildWithin = 3 * time.Minute

// Ensure builds the image, and what it is built on, unless it is there.
func (e *Engine) Ensure(ctx context.Context, b images.Build) error {
	has, err := e.hasImage(ctx, b.Name)
	if err != nil || has {
		return err
	}
	if b.Base != nil {
		if err := e.Ensure(ctx, *b.Base); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, buildWithin)
	defer cancel()
	args := map[string]*string{}
	for k, v := range b.Args {
		args[k] = &v
	}
	in := b.Context()
	defer func() { _ = in.Close() }()
	res, err := e.api.ImageBuild(ctx, in, client.ImageBuildOptions{
		Tags: []string{b.Name}, Labels: b.Labels, BuildArgs: args, Remove: true, ForceRemove: true, Dockerfile: "Dockerfile",
	})
	if err != nil {
		return fmt.Errorf("build image %s: %w", b.Name, err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := buildError(res.Body); err != nil {
		return fmt.Errorf("build image %s: %w", b.Name, err)
	}
	return nil
}

func (e *Engine) hasImage(ctx context.Context, name string) (bool, error) {
	_, err := e.api.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for image %s: %w", name, err)
	}
	return true, nil
}

// pull fetches an image. The engine must begin to answer within firstWord: a
// machine without a way out would wait for its resolver.
func (e *Engine) pull(ctx context.Context, name string) error {
	const firstWord, whole = 8 * time.Second, 5 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, whole, fmt.Errorf("not done within %v", whole))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	timer := time.AfterFunc(firstWord, func() { giveUp(fmt.Errorf("no answer within %v", firstWord)) })
	res, err := e.api.ImagePull(ctx, name, client.ImagePullOptions{})
	if err != nil {
		return fmt.Errorf("pull %s: %w", name, causeOf(ctx, err))
	}
	defer func() { _ = res.Close() }()
	r := io.TeeReader(res, writerFunc(func([]byte) { timer.Stop() }))
	if err := buildError(r); err != nil {
		return fmt.Errorf("pull %s: %w", name, causeOf(ctx, err))
	}
	return nil
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
