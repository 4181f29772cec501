package images

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// read gives the entries of a context, by name.
func read(t *testing.T, b Build) map[string]*tar.Header {
	t.Helper()
	r := b.Context()
	defer r.Close()
	out := map[string]*tar.Header{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = h
	}
}

func static(t *testing.T, name string) string {
	t.Helper()
	src := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(src, []byte("package main\nfunc main() { print(`"+name+"`) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(filepath.Dir(src), "kbench")
	cmd := exec.Command("go", "build", "-o", out, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}

func TestNode(t *testing.T) {
	a, err := Node(static(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Node(static(t, "b"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name == b.Name || !strings.HasPrefix(a.Name, "kbench.local/node:") || a.Labels[Label] != "node" {
		t.Errorf("names %s and %s", a.Name, b.Name)
	}
	files := read(t, a)
	if h := files["kbench"]; h == nil || h.Mode != 0o755 || files["Dockerfile"] == nil || len(files) != 2 {
		t.Errorf("files %v", files)
	}
	for path, want := range map[string]string{"/bin/ls": "CGO_ENABLED=0", "/etc/hostname": "no Linux program", "/nowhere": "/nowhere"} {
		if _, err := Node(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestContextTellsErrors: a file that is gone when the context is read.
func TestContextTellsErrors(t *testing.T) {
	path := static(t, "a")
	b, err := Node(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r := b.Context()
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := b.Context().Close(); err != nil { // read not at all
		t.Error(err)
	}
}

func TestJRE(t *testing.T) {
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("SKIPPED: no image of Java was made: ", err)
	}
	b, err := JRE(java)
	if err != nil {
		t.Fatal(err)
	}
	again, err := JRE(java)
	if err != nil || again.Name != b.Name {
		t.Errorf("named %s, then %s, %v", b.Name, again.Name, err)
	}
	files := read(t, b)
	var libc, loader bool
	for name, h := range files {
		libc = libc || strings.HasSuffix(name, "/libc.so.6")
		loader = loader || strings.Contains(name, "/ld-linux")
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir || strings.Contains(name, "jmods") {
			t.Errorf("entry %s of type %c", name, h.Typeflag)
		}
	}
	if h := files["rootfs/opt/java/bin/java"]; h == nil || h.Mode != 0o755 || !libc || !loader || files["rootfs/tmp/"].Mode != 0o1777 {
		t.Errorf("java %v, libc %v, loader %v", h, libc, loader)
	}
	if _, err := JRE("/bin/sh"); err == nil {
		t.Error("/bin is taken for a home of Java")
	}
	if _, err := JRE("/nowhere/bin/java"); err == nil {
		t.Error("a missing program is taken for Java")
	}
}

func TestKafka(t *testing.T) {
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("SKIPPED: no image of Kafka was made: ", err)
	}
	libs := t.TempDir()
	for _, name := range []string{"b.jar", "a.jar", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(libs, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Kafka("4.4.0", java, libs)
	if err != nil {
		t.Fatal(err)
	}
	files := read(t, b)
	if len(files) != 3 || files["lib/a.jar"] == nil || files["lib/b.jar"] == nil || b.Base == nil || b.Args["JRE"] != b.Base.Name {
		t.Errorf("files %v, base %v, args %v", files, b.Base, b.Args)
	}
	if !strings.HasPrefix(b.Name, "kbench.local/kafka:4.4.0-") || b.Labels[Label] != "kafka" {
		t.Errorf("name %s, labels %v", b.Name, b.Labels)
	}
	if _, err := Kafka("4.4.0", java, t.TempDir()); err == nil {
		t.Error("an image without jars was made")
	}
}

func TestManifestClassPath(t *testing.T) {
	dir := t.TempDir()
	jar := func(name, manifest string) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		if manifest != "" {
			w, _ := z.Create("META-INF/MANIFEST.MF")
			_, _ = io.WriteString(w, manifest)
		}
		if err := errors.Join(z.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	main := jar("zookeeper.jar", "Manifest-Version: 1.0\r\nClass-Path: a.jar "+dir+"/b\r\n .jar gone.jar\r\nX: y\r\n")
	jar("a.jar", "Class-Path: zookeeper.jar c.jar\n") // a circle
	jar("b.jar", "")
	jar("c.jar", "Name: x\n")
	got, err := withManifests([]string{main})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range got {
		names = append(names, filepath.Base(g))
	}
	if want := []string{"zookeeper.jar", "a.jar", "b.jar", "c.jar"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if _, err := withManifests([]string{filepath.Join(dir, "gone.jar")}); err == nil {
		t.Error("no jar at all is no error")
	}
	bad := filepath.Join(dir, "bad.jar")
	if err := os.WriteFile(bad, []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := withManifests([]string{bad}); err == nil || !strings.Contains(err.Error(), "bad.jar") {
		t.Errorf("a broken jar: %v", err)
	}
}
