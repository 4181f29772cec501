package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"kbench/results"
)

// GitHub is the workflow commands that GitHub Actions turns into annotations:
// what is wrong, what is new and what improved, and one for a run that could
// not be judged.
func (r *Report) GitHub() []byte {
	var b strings.Builder
	say := func(level, title, message string) {
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, githubProperty.Replace(results.OneLine(title)), githubData.Replace(message))
	}
	if r.ExitCode == 3 && !r.has(NoData) {
		say("error", "kbench: "+string(r.Verdict), results.OneLine(strings.Join(r.Reasons, "; ")))
	}
	for _, c := range order(r.Checks) {
		level, title := "", "kbench: "+c.Name()
		switch c.State {
		case Missed:
			level = "error"
		case NoData:
			level, title = "error", title+" is invalid"
		case NoBaseline:
			level = "warning"
		case Improved:
			level = "notice"
		default:
			continue
		}
		say(level, title, results.OneLine(c.Sentence()))
	}
	return []byte(b.String())
}

// What would end a property, or stands for something else, is written in
// percent.
var (
	githubData     = strings.NewReplacer("%", "%25")
	githubProperty = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

// codeQuality is one entry of GitLab's code quality report, a subset of Code
// Climate's format.
type codeQuality struct {
	Description string   `json:"description"`
	CheckName   string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// GitLab is a code quality report. The same check has the same fingerprint
// night after night, so that GitLab tells new faults from old ones.
func (r *Report) GitLab() ([]byte, error) {
	out := []codeQuality{} // an empty report is [], not null
	add := func(severity, check, description string, identity ...string) {
		sum := sha256.Sum256([]byte(strings.Join(append([]string{r.Name, check}, identity...), "\x00")))
		q := codeQuality{Description: results.OneLine(description), CheckName: check, Fingerprint: hex.EncodeToString(sum[:16]), Severity: severity}
		q.Location.Path, q.Location.Lines.Begin = "kbench/"+results.OneLine(r.Name), 1
		out = append(out, q)
	}
	if r.ExitCode == 3 && !r.has(NoData) {
		add("blocker", "kbench/"+string(r.Verdict), strings.Join(r.Reasons, "; "))
	}
	for _, c := range order(r.Checks) {
		severity := map[State]string{Missed: "critical", NoData: "blocker", NoBaseline: "info"}[c.State]
		if severity != "" {
			add(severity, "kbench/"+c.Kind, c.Sentence(), c.Cell, c.Workload, c.Metric, c.Rule)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(out)
	return b.Bytes(), err
}
