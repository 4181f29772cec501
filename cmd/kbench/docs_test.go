package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"kbench/internal/heldport/heldtest"
)

// docsDir holds the pages whose commands are tested.
const docsDir = "../../docs"

// shellBlock is a fenced block of a page.
type shellBlock struct {
	page string // file name
	line int    // of the fence, from 1
	exec bool   // it is run: ```sh exec, or ```sh exec=3 where it ends with 3
	code int
	text string
	want []string // lines of the ```text block right below, which the output holds
}

var sandboxMark = regexp.MustCompile(`<!-- sandbox: ([a-z]+) -->`)

// readPage gives the shell blocks of a page and the name of its sandbox.
func readPage(t *testing.T, path string) (blocks []shellBlock, sandbox string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if m := sandboxMark.FindSubmatch(b); m != nil {
		sandbox = string(m[1])
	}
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		info, found := strings.CutPrefix(lines[i], "```")
		if !found {
			continue
		}
		fence := i
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			t.Fatalf("%s:%d: the block has no end", path, fence+1)
		}
		text := strings.Join(lines[fence+1:i], "\n") + "\n"
		switch language, how, _ := strings.Cut(info, " "); language {
		case "sh":
			block := shellBlock{page: filepath.Base(path), line: fence + 1, text: text}
			mode, code, hasCode := strings.Cut(how, "=")
			block.exec = mode == "exec"
			if hasCode {
				if block.code, err = strconv.Atoi(code); err != nil {
					t.Fatalf("%s:%d: %s", path, fence+1, info)
				}
			}
			if how != "" && !block.exec {
				t.Fatalf("%s:%d: ```%s: write ```sh, ```sh exec or ```sh exec=3", path, fence+1, info)
			}
			blocks = append(blocks, block)
		case "text":
			if n := len(blocks); n > 0 && blocks[n-1].exec && blocks[n-1].want == nil {
				blocks[n-1].want = strings.Split(strings.TrimSpace(text), "\n")
			}
		}
	}
	return blocks, sandbox
}

func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(docsDir, "*.md"))
	if err != nil || len(found) < 7 {
		t.Fatalf("%d pages in %s, %v", len(found), docsDir, err)
	}
	return found
}

// sandboxPath makes a directory with kbench in it, for PATH.
func sandboxPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asKbench, self)
	if err := os.WriteFile(filepath.Join(bin, "kbench"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin + ":/usr/local/bin:/usr/bin:/bin"
}

// runShell runs a script in dir as a user would and gives its output and exit
// code.
func runShell(t *testing.T, dir, path, script string, env ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + path, "HOME=" + dir, "TMPDIR=" + dir, "NO_COLOR=1", "LANG=C.UTF-8",
		"DOCKER_HOST=unix://" + dir + "/no-engine.sock",
	}, env...)
	b, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatalf("%s: %v", script, err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// squeeze makes one space of many, since tables are padded.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestDocsCommands runs what the pages show, each page in a sandbox of its own
// with the run folders that its mark names, and looks for the output that they
// show.
func TestDocsCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: runs kbench many times")
	}
	path := sandboxPath(t)
	for _, page := range pages(t) {
		blocks, sandbox := readPage(t, page)
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			if sandbox != "" {
				fill, ok := sandboxes[sandbox]
				if !ok {
					t.Fatalf("there is no sandbox %q", sandbox)
				}
				fill(t, dir)
			}
			if err := os.CopyFS(filepath.Join(dir, "docs"), os.DirFS(docsDir)); err != nil {
				t.Fatal(err)
			}
			ports := strings.NewReplacer()
			if sandbox == "nodes" { // others may have the ports that it shows
				ports = strings.NewReplacer("9092", fmt.Sprint(heldtest.Port(t)), "9093", fmt.Sprint(heldtest.Port(t)))
			}
			for _, b := range blocks {
				if !b.exec {
					continue
				}
				out, code := runShell(t, dir, path, ports.Replace(b.text))
				if code != b.code {
					t.Fatalf("%s:%d: exit %d, want %d:\n%s%s", b.page, b.line, code, b.code, b.text, out)
				}
				for _, want := range b.want {
					if want != "..." && !strings.Contains(squeeze(out), squeeze(want)) {
						t.Errorf("%s:%d: the output lacks %q:\n%s", b.page, b.line, want, out)
					}
				}
			}
		})
	}
}

// TestDocsNameWhatThereIs judges every shell block of the pages, run or not,
// and every command line in the text: commands and flags exist.
func TestDocsNameWhatThereIs(t *testing.T) {
	inline := regexp.MustCompile("`(kbench [^`]+)`")
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		for _, m := range inline.FindAllStringSubmatch(string(b), -1) {
			judgeCommand(t, name, m[1])
		}
		blocks, _ := readPage(t, page)
		for _, block := range blocks {
			judgeShell(t, fmt.Sprintf("%s:%d", name, block.line), block.text)
		}
	}
}

// judgeShell judges each kbench command line of a script.
func judgeShell(t *testing.T, where, script string) {
	t.Helper()
	script = strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		// A line may hold several commands; each begins after one of these.
		for _, part := range regexp.MustCompile(`[;|&({]+|\b(?:if|then|do|else|while|!) `).Split(line, -1) {
			part = strings.TrimSpace(part)
			for _, call := range []string{"kbench ", "bin/kbench ", `"$KBENCH" `, "$KBENCH "} {
				if rest, ok := strings.CutPrefix(part, call); ok {
					judgeCommand(t, where, "kbench "+rest)
				}
			}
		}
	}
}

// judgeCommand looks the words and flags of a command line up in the commands.
func judgeCommand(t *testing.T, where, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " >")
	words := strings.Fields(line)[1:]
	if len(words) > 0 && words[0] == "help" || len(words) == 1 && strings.HasPrefix(words[0], "--") {
		return
	}
	cmd, _, err := newRoot(os.Stdout, os.Stderr).Find(words)
	if err != nil || cmd == cmd.Root() && len(words) > 0 && !strings.HasPrefix(words[0], "-") && !strings.ContainsAny(words[0], "$<") {
		t.Errorf("%s: %q is no command", where, line)
		return
	}
	cmd.InitDefaultHelpFlag()
	for _, w := range words {
		flag, isFlag := strings.CutPrefix(w, "--")
		if !isFlag || flag == "" {
			continue
		}
		flag, _, _ = strings.Cut(flag, "=")
		if !hasFlag(cmd, flag) {
			t.Errorf("%s: %q: %s has no flag --%s", where, line, cmd.CommandPath(), flag)
		}
	}
}

func hasFlag(cmd *cobra.Command, name string) bool {
	return cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
}
