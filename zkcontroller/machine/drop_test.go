package machine

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The story that the README names for an event must not come out the same when
// the machine never gets that event: else it does not test its handler.
func TestStoriesNeedTheirEvents(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\|[^|]*\\| `(\\w+)`[^|]*\\|(.*)\\|$")
	story := regexp.MustCompile(`story (\w+)`)
	tried := 0
	for line := range strings.Lines(string(data)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		for _, s := range story.FindAllStringSubmatch(m[2], -1) {
			tried++
			if event := "machine." + m[1]; !differs(t, "testdata/stories/"+s[1], event) {
				t.Errorf("story %s is the same without %s", s[1], event)
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d pairs of event and story are tried", tried)
	}
}

// differs runs a story whose events of a type are dropped and reports whether
// its trace is another.
func differs(t *testing.T, path, event string) (other bool) {
	t.Helper()
	s := newStory(Config{ID: 1, Rand: testRand()})
	s.drop = event
	defer func() {
		if recover() != nil { // it could not even go on
			other = true
		}
	}()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		s.out.Reset()
		if !other {
			s.command(t, d)
			other = s.out.String() != d.Expected
		}
		return d.Expected
	})
	return other
}

// dropped reports whether a story leaves an event out.
func (s *story) dropped(in Input) bool { return s.drop != "" && fmt.Sprintf("%T", in) == s.drop }
