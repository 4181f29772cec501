package history

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	nights := make([]*Night, 6)
	for i := range nights {
		tr := truth(i)
		if i == 1 {
			tr.Name = "weekly"
		}
		nights[i] = night(t, tr)
	}
	for name, c := range map[string]struct {
		keep Keep
		want []int
		// accepted are the runs whose accepted changes stay.
		accepted []int
	}{
		"nothing":      {Keep{}, []int{0, 1, 2, 3, 4, 5}, []int{0, 3, 5}},
		"newest two":   {Keep{Newest: 2}, []int{1, 4, 5}, []int{3, 5}},
		"before":       {Keep{Before: nights[3].At}, []int{3, 4, 5}, []int{3, 5}},
		"both":         {Keep{Newest: 1, Before: nights[2].At}, []int{5}, []int{5}},
		"other offset": {Keep{Before: nights[3].At.In(time.FixedZone("", 3600))}, []int{3, 4, 5}, []int{3, 5}},
		"everything":   {Keep{Before: nights[5].At.Add(1)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			stale := filepath.Join(dir, "."+FileName+".prune-1") // of a prune that was killed
			if err := os.WriteFile(stale, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			// Out of order, and two lines twice, as merges leave them.
			mustAdd(t, path, nights[5], nights[0], nights[2])
			b, _ := os.ReadFile(path)
			mustAdd(t, path, nights[1], nights[4], nights[3])
			for _, i := range []int{0, 3, 5} {
				if _, err := AddAccept(path, AcceptNight(nights[i], "", "", "known", "me", first.AddDate(1, 0, i))); err != nil {
					t.Fatal(err)
				}
			}
			all, _ := os.ReadFile(path)
			link := filepath.Join(t.TempDir(), "link.jsonl")
			if err := errorsOf(os.WriteFile(path, append(all, b...), 0o644), os.Chmod(path, 0o600), os.Symlink(path, link)); err != nil {
				t.Fatal(err)
			}
			p, err := Prune(link, c.keep)
			if err != nil {
				t.Fatal(err)
			}
			l := mustRead(t, link)
			var got, accepted []int
			for _, n := range l.Nights {
				got = append(got, slices.IndexFunc(nights, func(o *Night) bool { return o.Run == n.Run }))
			}
			for _, a := range l.Accepts {
				accepted = append(accepted, slices.IndexFunc(nights, func(o *Night) bool { return o.Run == a.Run }))
			}
			if !slices.Equal(got, c.want) || !slices.Equal(accepted, c.accepted) {
				t.Errorf("nights %v accepts %v, want %v %v", got, accepted, c.want, c.accepted)
			}
			if p.Kept != len(c.want) || len(p.Runs) != 6-len(c.want) || p.Accepts != 3-len(c.accepted) {
				t.Errorf("told %+v", p)
			}
			info, err := os.Lstat(link)
			if err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Error("the link was replaced")
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", info.Mode())
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*prune*")); len(left) > 0 {
				t.Errorf("left behind %v", left)
			}
		})
	}
	if _, err := Prune(filepath.Join(t.TempDir(), "none"), Keep{}); err == nil {
		t.Error("pruned what is not there")
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
