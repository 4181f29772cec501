package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Status is what a server says of itself.
type Status struct {
	Version string // "3.8.0"
	Mode    string // leader, follower, standalone
	Zxid    string // hexadecimal
	Nodes   string // number of znodes
}

// Ask sends the four-letter word srvr. A server that runs but does not serve
// is an error.
func Ask(ctx context.Context, addr string) (Status, error) {
	var st Status
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return st, err
	}
	defer func() { _ = nc.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(deadline)
	}
	if _, err := io.WriteString(nc, "srvr"); err != nil {
		return st, err
	}
	b, err := io.ReadAll(io.LimitReader(nc, 64<<10))
	if err != nil && len(b) == 0 {
		return st, err
	}
	return parse(string(b))
}

func parse(text string) (Status, error) {
	var st Status
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		switch key {
		case "Zookeeper version":
			st.Version, _, _ = strings.Cut(value, ",")
			st.Version, _, _ = strings.Cut(st.Version, "-")
		case "Mode":
			st.Mode = value
		case "Zxid":
			st.Zxid = value
		case "Node count":
			st.Nodes = value
		}
	}
	if st.Mode == "" {
		text = strings.TrimSpace(text)
		if text == "" {
			return st, errors.New("it answers srvr with nothing; 4lw.commands.whitelist must hold srvr")
		}
		return st, fmt.Errorf("it answers srvr with %q", text)
	}
	return st, nil
}
