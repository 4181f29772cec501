package gate

import (
	"encoding/xml"
	"fmt"
	"time"
)

// The parts of JUnit's XML that CI systems read: what is missed is a failure,
// what could not be judged an error, and what has no baseline is skipped.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitFault `xml:"failure"`
		Error   *junitFault `xml:"error"`
		Skipped *junitFault `xml:"skipped"`
		Out     string      `xml:"system-out,omitempty"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
	}
)

// JUnit is one test case for each check, and one for the run itself, which is
// an error where nothing of it could be judged.
func (r *Report) JUnit() ([]byte, error) {
	s := junitSuite{
		Name: "kbench gate: " + r.Name, Timestamp: r.Started.UTC().Format(time.RFC3339),
		Properties: []junitProperty{{"run", r.Run}, {"commit", r.Commit}, {"specHash", r.SpecHash}, {"environmentHash", r.EnvHash}, {"verdict", string(r.Verdict)}},
	}
	run := junitCase{Class: r.Name, Name: "run " + r.Run + " can be judged"}
	for _, note := range r.Notes {
		run.Out += note + "\n"
	}
	unjudged := r.ExitCode == 3 && !r.has(NoData)
	if unjudged {
		run.Error = &junitFault{Type: string(r.Verdict)}
		for i, reason := range r.Reasons {
			if i > 0 {
				run.Error.Message += "; "
			}
			run.Error.Message += reason
		}
	}
	s.add(run)
	for _, c := range r.Checks {
		s.add(c.junit(r.Name))
	}
	b, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func (r *Report) has(s State) bool {
	for _, c := range r.Checks {
		if c.State == s {
			return true
		}
	}
	return false
}

func (c *Check) junit(name string) junitCase {
	out := junitCase{Class: name, Name: c.Name() + " against history"}
	if c.Cell != "" {
		out.Class += "." + c.Cell
	}
	if c.Kind == KindThreshold {
		out.Name = c.Rule
	}
	if c.Kind == KindThreshold && c.Workload != "" {
		out.Name += " (" + c.Workload + ")"
	}
	fault := &junitFault{Message: c.Message, Type: c.Kind}
	switch c.State {
	case Missed:
		out.Failure = fault
	case NoData:
		out.Error = fault
	case NoBaseline:
		out.Skipped = fault
	default:
		out.Out = c.Message
	}
	return out
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}
