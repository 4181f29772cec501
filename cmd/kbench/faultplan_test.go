package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"kbench/harness/spec"
)

// TestSeedsChooseEveryBroker: over twenty seeds the first victim of a trial is
// each broker once at least, and a seed always plans the same bytes.
func TestSeedsChooseEveryBroker(t *testing.T) {
	first := map[string]int{}
	for seed := range 20 {
		plan := func() string {
			s, err := spec.Default(
				spec.Override{Origin: "test", Path: "seed", Value: fmt.Sprint(seed)},
				spec.Override{Origin: "test", Path: "brokers", Value: "5"},
			)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := dryRun(&b, s, place{provider: "process"}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		text := plan()
		if again := plan(); again != text {
			t.Fatalf("seed %d plans two things:\n%s\n%s", seed, text, again)
		}
		_, rest, ok := strings.Cut(text, "#     controlled-shutdown: brokers ")
		if !ok {
			t.Fatalf("no victims in the plan:\n%s", text)
		}
		victim, _, _ := strings.Cut(rest, ",")
		first[victim]++
	}
	if len(first) != 5 {
		t.Errorf("twenty seeds begin with %v", first)
	}
}
