package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"
)

// serveProfiles answers Go's profiles over HTTP where the configuration asks for
// it, until ctx ends.
func (p *process) serveProfiles(ctx context.Context) error {
	at := p.cfg.Profile
	if at.Port == 0 {
		return nil
	}
	ln, err := listen(at.Host, at.Port)
	if err != nil {
		return fmt.Errorf("serve profiles: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.Handle("GET /debug/pprof/heap", pprof.Handler("heap"))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			p.log.Warn("profiles are served no more", "err", err)
		}
	}()
	return nil
}
