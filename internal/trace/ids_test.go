package trace

import (
	"slices"
	"testing"
)

func TestIDs(t *testing.T) {
	for _, ids := range [][]int32{nil, {7}, {1, 2, 1001}} {
		if got, err := ParseIDs[int32](IDs(ids)); err != nil || !slices.Equal(got, ids) {
			t.Errorf("%v came back as %v, %v", ids, got, err)
		}
	}
	for _, text := range []string{",", "1,", "a", "1,99999999999"} {
		if got, err := ParseIDs[int32](text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
