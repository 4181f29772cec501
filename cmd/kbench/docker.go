package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// dockerPlace makes the docker provider's place; nil where this kbench has
// none.
var dockerPlace func(f runFlags) place

// engineTimeout bounds the question whether a Docker engine answers: on this
// machine it does at once or not at all.
const engineTimeout = 800 * time.Millisecond

// dockerEngine asks the engine that DOCKER_HOST or the usual socket names for
// its version.
func dockerEngine(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	network, addr, err := splitDockerHost(host)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/version", nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return "", fmt.Errorf("no engine answers at %s: %w", host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var v struct{ Version, Os, Arch string }
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || v.Version == "" {
		return "", fmt.Errorf("what answers at %s is no Docker engine: HTTP status %s", host, resp.Status)
	}
	return fmt.Sprintf("%s %s/%s", v.Version, v.Os, v.Arch), nil
}

func splitDockerHost(host string) (network, addr string, err error) {
	scheme, rest, ok := strings.Cut(host, "://")
	switch {
	case ok && scheme == "unix":
		return "unix", rest, nil
	case ok && (scheme == "tcp" || scheme == "http"):
		return "tcp", strings.TrimSuffix(rest, "/"), nil
	}
	return "", "", fmt.Errorf("DOCKER_HOST is %q, which is neither unix:// nor tcp://", host)
}
