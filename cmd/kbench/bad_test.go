package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBadInput: exit 2, one line for each fault, nothing on stdout, nothing
// left behind, in under a second.
func TestBadInput(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	t.Setenv("ZOOKEEPER_HOME", "/nonexistent/zookeeper")
	for name, c := range map[string]struct {
		args []string
		want []string // one for each line
	}{
		"unknown command":    {[]string{"runn"}, []string{`unknown command "runn"; did you mean "run"?`}},
		"unknown flag":       {[]string{"run", "--nope"}, []string{"unknown flag --nope; `kbench run --help` lists them"}},
		"misspelt flag":      {[]string{"run", "--partitoins", "1k"}, []string{"did you mean --partitions?"}},
		"short flag":         {[]string{"run", "-x"}, []string{"unknown flag -x"}},
		"flag without value": {[]string{"run", "--trials"}, []string{"flag needs an argument: --trials"}},
		"unknown target":     {[]string{"run", "--targets", "zk,kratf"}, []string{`--targets zk,kratf: targets[1]: unknown target "kratf"; did you mean "kraft"?`}},
		"partitions 0":       {[]string{"run", "--partitions", "0"}, []string{"--partitions 0: cluster.partitions: 0 is too small; write at least 1"}},
		"partitions -5":      {[]string{"run", "--partitions", "-5"}, []string{"-5 is too small"}},
		"partitions 1e9":     {[]string{"run", "--partitions", "1e9"}, []string{`"1e9" is not a whole number; write it as`}},
		"partitions 10^9":    {[]string{"run", "--partitions", "1000000000"}, []string{"1000M is too large; write at most 10M"}},
		"partitions abc":     {[]string{"run", "--partitions", "abc"}, []string{`"abc" is not a whole number`}},
		"empty partitions":   {[]string{"run", "--partitions", ""}, []string{"an empty word in the list"}},
		"out is a file":      {[]string{"run", "--out", "file"}, []string{"--out file is a file; name a directory"}},
		"out cannot be":      {[]string{"run", "--out", "/proc/kbench"}, []string{"--out /proc/kbench cannot be written"}},
		"data-dir is a file": {[]string{"run", "--data-dir", "file/deeper"}, []string{"--data-dir file/deeper: not a directory"}},
		"no docker":          {[]string{"run", "--provider", "docker"}, []string{"provider docker: no Docker engine answers at unix:///nonexistent/docker.sock"}},
		"no zookeeper":       {[]string{"run", "--store", "zookeeper", "--provider", "process"}, []string{"store zookeeper: ZOOKEEPER_HOME is"}},
		"set":                {[]string{"run", "--set", "trials"}, []string{"--set trials: not path=value"}},
		"set unit":           {[]string{"run", "--set", "kraft.append.linger=5"}, []string{"write 5ms or 5s"}},
		"serve in a dry run": {[]string{"run", "--dry-run", "--serve", "foo"}, []string{`--serve "foo" is not host:port; write 127.0.0.1:8080, or 127.0.0.1:0 for a free port`}},
		"serve elsewhere":    {[]string{"run", "--dry-run", "--targets", "a", "--serve", "192.0.2.1:0"}, []string{"--targets a: ", "--serve 192.0.2.1:0: "}},
		"two specs":          {[]string{"run", "a.yaml", "b.yaml"}, []string{`takes at most one spec, got 2: "a.yaml" "b.yaml"; leave out "b.yaml", or see ` + "`kbench run --help`"}},
		"run words":          {[]string{"run", "trials", "5", "more"}, []string{`leave out "5" "more", or see`}},
		"clean words":        {[]string{"clean", "x"}, []string{`kbench clean takes no argument, got 1: "x"; leave out "x", or see ` + "`kbench clean --help`"}},
		"no such spec":       {[]string{"run", "no.yaml"}, []string{"no.yaml: no such file"}},
		"empty spec":         {[]string{"run", "empty.yaml"}, []string{"empty.yaml: the file is empty"}},
		"directory":          {[]string{"run", "."}, []string{".: is a directory; name the YAML file in it"}},
		"tab": {[]string{"run", "bad.yaml"}, []string{
			"bad.yaml:2:1: a tab in the indentation; indent with spaces",
			"bad.yaml:3:9: trials: \"many\" is not a whole number",
			"bad.yaml:4:1: trials: is written twice, first on line 3 and again on line 4; keep one",
			`bad.yaml:5:1: trails: unknown key; did you mean "trials"?`,
		}},
		"all at once": {[]string{"run", "--targets", "a", "--trials", "x", "--out", "file", "--set", "y"}, []string{
			"--set y: not path=value", "--targets a: targets[0]: unknown target", "--trials x: trials: ", "--out file is a file",
		}},
		"help":           {[]string{"help", "rum"}, []string{`no help on "rum"; did you mean "run"?`}},
		"list":           {[]string{"list", "target"}, []string{`did you mean "targets"?`}},
		"report nothing": {[]string{"report"}, []string{"takes one run folder, got 0"}},
		"report file":    {[]string{"report", "file"}, []string{"file is a file; name the run folder"}},
		"report format":  {[]string{"report", "x", "--format", "jsn"}, []string{`did you mean "json"?`}},
		"verify nowhere": {[]string{"verify", "nowhere"}, []string{"nowhere: no such run folder"}},
		"node":           {[]string{"node"}, []string{"--config is missing"}},
		"node config":    {[]string{"node", "--config", "bad.yaml"}, []string{"bad.yaml: line 1, column 1 is not JSON: invalid character 'w'"}},
		"node nowhere":   {[]string{"node", "--config", "nope"}, []string{"nope: no such file; name the JSON file that configures the node"}},
		"node empty":     {[]string{"node", "--config", "empty.yaml"}, []string{"empty.yaml: the file is empty; it must hold"}},
		"node no name":   {[]string{"node", "--config", ""}, []string{"--config is missing or empty; name"}},
		"node directory": {[]string{"node", "--config", "."}, []string{"is a directory; name the JSON file"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			files := map[string]string{"file": "", "empty.yaml": "", "bad.yaml": "workloads:\n\t- {kind: propagation}\ntrials: many\ntrials: 2\ntrails: 3\n"}
			for name, text := range files {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr bytes.Buffer
			args := c.args
			if args[0] == "run" && !strings.Contains(strings.Join(args, " "), "--data-dir") {
				args = append(args, "--data-dir", filepath.Join(dir, "data"))
			}
			if name == "flag without value" {
				args = c.args
			}
			began := time.Now()
			code := run(args, &stdout, &stderr)
			if took := time.Since(began); took > 30*time.Second { // it waits for nobody
				t.Errorf("took %v", took)
			}
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			if code != 2 || stdout.Len() != 0 || len(lines) != len(c.want) {
				t.Fatalf("exit %d, stdout %q, stderr:\n%s", code, stdout.String(), stderr.String())
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
				}
			}
			if left, _ := os.ReadDir(dir); len(left) != len(files) {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
