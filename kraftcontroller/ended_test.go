package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"kbench/kraftcontroller/raftclient"
)

// A controller that is told to end has ended in good order, also where the
// client had news that the loop did not hear any more.
func TestWhyEnded(t *testing.T) {
	replay, disk := errors.New("cannot replay"), errors.New("no space")
	unheard := fmt.Errorf("raft client 1: apply committed records from offset 7: %w", ErrStopped)
	for name, c := range map[string]struct{ loop, client, want error }{
		"in good order":               {context.Canceled, nil, nil},
		"news after the end":          {context.Canceled, unheard, nil},
		"in good order, by deadline":  {context.DeadlineExceeded, nil, nil},
		"the client failed":           {context.Canceled, disk, disk},
		"the client failed, and then": {raftclient.ErrClosed, disk, disk},
		"the loop failed":             {replay, unheard, replay},
		"both failed":                 {replay, disk, replay},
	} {
		if got := whyEnded(c.loop, c.client); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
