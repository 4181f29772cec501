package jvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// jcmd is beside java, whatever links lead there; a Java without it is told of.
func TestJcmd(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("java")
	link := filepath.Join(t.TempDir(), "java")
	if err := os.Symlink(filepath.Join(dir, "java"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Jcmd(link); err == nil || !strings.Contains(err.Error(), "jcmd comes with a JDK") {
		t.Error(err)
	}
	program("jcmd")
	if jcmd, err := Jcmd(link); err != nil || jcmd != filepath.Join(dir, "jcmd") {
		t.Errorf("%s, %v", jcmd, err)
	}
}
