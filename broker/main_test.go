package broker

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine that a broker starts is joined when it stops.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
