package child

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// CopyFiles copies files of the process into dir, under its name with an ending:
// files maps a path to the ending. One that is not there is left out.
func (p *Process) CopyFiles(dir string, files map[string]string) error {
	var errs []error
	for from, ending := range files {
		if err := copyFile(from, filepath.Join(dir, p.Name()+ending)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
