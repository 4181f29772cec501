package workloads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What is removed outlives an interrupt, for a while and no longer.
func TestTidily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, interrupt)
		start := time.Now()
		err := tidily(ctx, func(ctx context.Context) error {
			<-ctx.Done() // a cluster that does not answer
			return context.Cause(ctx)
		})
		if took := time.Since(start); err == nil || took != time.Minute+tidyTimeout {
			t.Errorf("ended after %v: %v", took, err)
		}
		failed := errors.New("failed")
		if err := tidily(ctx, func(ctx context.Context) error { return errors.Join(ctx.Err(), failed) }); !errors.Is(err, failed) || errors.Is(err, context.Canceled) {
			t.Errorf("after the interrupt: %v", err)
		}
	})
}
