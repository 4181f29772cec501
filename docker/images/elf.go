package images

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemDirs are where a loader looks without being told.
func systemDirs() []string {
	dirs, _ := filepath.Glob("/lib/*-linux-gnu*")
	more, _ := filepath.Glob("/usr/lib/*-linux-gnu*")
	return slices.Concat(dirs, more, []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
}

// sharedLibraries finds, as ldd does, what the programs and libraries of a
// Java tree load from outside it, and their loader.
func sharedLibraries(home string, tree []entry) ([]entry, error) {
	own := map[string]bool{} // names that the tree has itself
	var todo []string
	for _, f := range tree {
		if strings.Contains(filepath.Base(f.from), ".so") {
			own[filepath.Base(f.from)] = true
		}
		if (strings.HasSuffix(f.from, ".so") || f.to == "/opt/java/bin/java") && !isHeadful(f.from) {
			todo = append(todo, f.from)
		}
	}
	found := map[string]string{} // name to path
	loader := ""
	for len(todo) > 0 {
		file := todo[0]
		todo = todo[1:]
		needs, interp, err := readELF(file)
		if err != nil {
			return nil, err
		}
		if interp != "" {
			loader = interp
		}
		for _, lib := range needs {
			if own[lib] || found[lib] != "" || lib == filepath.Base(loader) {
				continue
			}
			path, err := locate(lib, filepath.Dir(file))
			if err != nil {
				return nil, fmt.Errorf("%s of Java in %s: %w", filepath.Base(file), home, err)
			}
			found[lib] = path
			todo = append(todo, path)
		}
	}
	if loader == "" {
		return nil, fmt.Errorf("java in %s is a script or static, not a program of a JDK: set JAVA_HOME to a JDK or JRE", home)
	}
	addNameService(found)
	return placeLibraries(found, loader)
}

// addNameService adds what libc loads by itself to look up hosts; since 2.34
// that is built in.
func addNameService(found map[string]string) {
	for _, lib := range []string{"libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"} {
		if path, err := locate(lib, ""); err == nil && found[lib] == "" {
			found[lib] = path
		}
	}
}

// placeLibraries puts all libraries where libc was found, a directory that the
// loader searches by default.
func placeLibraries(found map[string]string, loader string) ([]entry, error) {
	dir := filepath.Dir(found["libc.so.6"])
	var out []entry
	add := func(from, to string) error {
		st, err := os.Stat(from)
		if err == nil {
			out = append(out, entry{from, to, st.Size()})
		}
		return err
	}
	names := make([]string, 0, len(found))
	for lib := range found {
		names = append(names, lib)
	}
	slices.Sort(names)
	for _, lib := range names {
		if err := add(found[lib], filepath.Join(dir, lib)); err != nil {
			return nil, err
		}
	}
	return out, add(loader, loader)
}

func readELF(file string) (needs []string, interp string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				return nil, "", fmt.Errorf("read %s: %w", file, err)
			}
			interp = strings.TrimRight(string(b), "\x00")
		}
	}
	needs, err = f.ImportedLibraries()
	return needs, interp, err
}

func locate(lib, beside string) (string, error) {
	for _, dir := range append([]string{beside}, systemDirs()...) {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, lib)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("library %s is not on this machine: install what Java needs", lib)
}
