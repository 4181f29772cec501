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

// The tables of both controllers' READMEs name every story of every test, and no
// other.
func TestReadmesNameStories(t *testing.T) {
	var zk, kraft []string
	for test, stories := range map[string][]story[*rig]{
		"TestRealBrokers": ofRealBrokers, "TestRealBrokersOfOldProtocol": ofOldProtocol, "TestToolsOnOurBrokers": ofOurBrokers,
	} {
		zk = append(zk, storyNames(test, stories)...)
	}
	kraft = append(storyNames("TestKRaftRealBrokers", ofRealKRaftBrokers), storyNames("TestKRaftMixedQuorums", ofMixedQuorums)...)
	row := regexp.MustCompile(`(?m)^\| (Test(?:Real|Tools|KRaft)\w+) \| ([a-z, -]+) \|`)
	for controller, want := range map[string][]string{"zkcontroller": zk, "kraftcontroller": kraft} {
		data, err := os.ReadFile(filepath.Join("..", "..", controller, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range row.FindAllStringSubmatch(string(data), -1) {
			for s := range strings.SplitSeq(m[2], ", ") {
				got = append(got, fmt.Sprintf("%s/%s", m[1], s))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("the README of %s names\n%q\nthe tests have\n%q", controller, got, want)
		}
	}
}

func storyNames[R any](test string, stories []story[R]) []string {
	var names []string
	for _, s := range stories {
		names = append(names, test+"/"+s.name)
	}
	return names
}
