package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table of zkcontroller's README names every story of every test, and no
// other.
func TestReadmeNamesStories(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "zkcontroller", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for test, stories := range map[string][]story[*rig]{
		"TestRealBrokers": ofRealBrokers, "TestRealBrokersOfOldProtocol": ofOldProtocol, "TestToolsOnOurBrokers": ofOurBrokers,
	} {
		for _, s := range stories {
			want = append(want, test+"/"+s.name)
		}
	}
	row := regexp.MustCompile(`(?m)^\| (Test(?:Real|Tools)\w+) \| ([a-z, -]+) \|`)
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		for s := range strings.SplitSeq(m[2], ", ") {
			got = append(got, fmt.Sprintf("%s/%s", m[1], s))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the README names\n%q\nthe tests have\n%q", got, want)
	}
}
