package images

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// JRE is the image of the Java runtime that a java program belongs to.
func JRE(java string) (Build, error) {
	java, err := filepath.EvalSymlinks(java)
	if err != nil {
		return Build{}, fmt.Errorf("find Java's home: %w", err)
	}
	home := filepath.Dir(filepath.Dir(java))
	tree, err := walkJRE(home)
	if err != nil {
		return Build{}, fmt.Errorf("read Java's home %s: %w", home, err)
	}
	libs, err := sharedLibraries(home, tree)
	if err != nil {
		return Build{}, err
	}
	sum := sha256.New()
	for _, f := range slices.Concat(tree, libs) {
		fmt.Fprintf(sum, "%s %d\n", f.to, f.size)
	}
	release, _ := os.ReadFile(filepath.Join(home, "release"))
	sum.Write(release)
	sum.Write(jreDockerfile)
	return Build{
		Name:   fmt.Sprintf("kbench.local/jre:%x", sum.Sum(nil)[:8]),
		Labels: map[string]string{Label: "jre"},
		write:  func(a *archive) error { return writeJRE(a, slices.Concat(tree, libs)) },
	}, nil
}

// entry is a file of this machine and its place in the image.
type entry struct {
	from, to string
	size     int64
}

func writeJRE(a *archive, files []entry) error {
	const etc = "rootfs/etc/"
	err := errors.Join(
		a.bytes("Dockerfile", 0o644, jreDockerfile),
		a.dir("rootfs/tmp", 0o1777),
		a.bytes(etc+"nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files dns\n")),
		a.bytes(etc+"passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\n")),
		a.bytes(etc+"group", 0o644, []byte("root:x:0:\n")),
	)
	for _, f := range files {
		if err == nil {
			err = a.file(path.Join("rootfs", f.to), f.from)
		}
	}
	return err
}

// left out of the image: what compiles, documents or draws.
var skipJRE = []string{"jmods", "src.zip", "ct.sym", "man", "demo", "docs", "include", "legal", "sample"}

// maxDepth bounds the walk: links are followed and could form a circle.
const maxDepth = 12

// walkJRE lists a Java home. Debian's links lead into /etc, so they are
// followed; those that lead nowhere are left out.
func walkJRE(home string) ([]entry, error) {
	var out []entry
	var walk func(from, to string, depth int) error
	walk = func(from, to string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("%s is too deep: do its links form a circle?", from)
		}
		list, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range list {
			name := filepath.Join(from, e.Name())
			st, err := os.Stat(name)
			if err != nil || slices.Contains(skipJRE, e.Name()) {
				continue
			}
			switch {
			case st.IsDir():
				err = walk(name, path.Join(to, e.Name()), depth+1)
			case st.Mode().IsRegular():
				out = append(out, entry{name, path.Join(to, e.Name()), st.Size()})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(home, "/opt/java", 0)
	return out, err
}

// headful are native libraries a server never loads; what they need is left
// out.
var headful = []string{"libawt", "libjawt", "libsplash", "libjsound", "libfontmanager", "liblcms", "libmlib", "libjavajpeg", "libj2pcsc"}

func isHeadful(name string) bool {
	base := filepath.Base(name)
	return slices.ContainsFunc(headful, func(p string) bool { return strings.HasPrefix(base, p) })
}
