package images

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// jarImage is an image of jars on the Java runtime of a java program.
func jarImage(kind, version, java string, jars []string, dockerfile []byte) (Build, error) {
	jre, err := JRE(java)
	if err != nil {
		return Build{}, err
	}
	if len(jars) == 0 {
		return Build{}, fmt.Errorf("no jar of %s is there", kind)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, jre.Name)
	for _, j := range jars {
		st, err := os.Stat(j)
		if err != nil {
			return Build{}, err
		}
		fmt.Fprintln(sum, filepath.Base(j), st.Size(), st.ModTime().UnixNano())
	}
	sum.Write(dockerfile)
	if version == "" {
		version = "local"
	}
	return Build{
		Name:   fmt.Sprintf("kbench.local/%s:%s-%x", kind, version, sum.Sum(nil)[:6]),
		Labels: map[string]string{Label: kind, "kbench.version": version},
		Args:   map[string]string{"JRE": jre.Name},
		Base:   &jre,
		write: func(a *archive) error {
			err := a.bytes("Dockerfile", 0o644, dockerfile)
			for _, j := range jars {
				if err == nil {
					err = a.file("lib/"+filepath.Base(j), j)
				}
			}
			return err
		},
	}, nil
}
