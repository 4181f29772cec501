package conformance

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
)

// accessLists asks for everything that an access list can forbid.
func accessLists(t *testing.T, s Store) {
	owner, other := client(t, s), client(t, s)
	r := root(t, owner)
	if err := owner.AddAuth("digest", []byte("ann:secret")); err != nil {
		t.Fatal(err)
	}
	if err := other.AddAuth("digest", []byte("ann:guess")); err != nil {
		t.Fatal(err)
	}
	secret := must[string](t)(owner.Create(r+"/secret", []byte("x"), 0, zk.AuthACL(zk.PermAll)))
	shown := must[string](t)(owner.Create(r+"/shown", []byte("x"), 0, append(zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermRead)...)))
	must[string](t)(owner.Create(shown+"/child", nil, 0, open))
	for _, c := range []struct {
		what  string
		do    func(c *zk.Conn, path string) error
		shown bool // who may only read may do it
	}{
		{"get", func(c *zk.Conn, p string) error { _, _, err := c.Get(p); return err }, true},
		{"children", func(c *zk.Conn, p string) error { _, _, err := c.Children(p); return err }, true},
		{"getACL", func(c *zk.Conn, p string) error { _, _, err := c.GetACL(p); return err }, true},
		{"set", func(c *zk.Conn, p string) error { _, err := c.Set(p, nil, -1); return err }, false},
		{"setACL", func(c *zk.Conn, p string) error { _, err := c.SetACL(p, open, 99); return err }, false},
		{"create", func(c *zk.Conn, p string) error { _, err := c.Create(p+"/new", nil, 0, open); return err }, false},
		{"delete", func(c *zk.Conn, p string) error { return c.Delete(p+"/child", 99) }, false},
		{"multi", func(c *zk.Conn, p string) error {
			_, err := c.Multi(&zk.SetDataRequest{Path: p, Version: -1})
			return err
		}, false},
	} {
		for path, allowed := range map[string]bool{secret: false, shown: c.shown} {
			err := c.do(other, path)
			if c.what == "delete" && path == secret { // without a child the path is not there
				allowed = errors.Is(err, zk.ErrNoNode)
			}
			if (err == nil || errors.Is(err, zk.ErrNoNode)) != allowed || !allowed && !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("%s of %s by another: %v", c.what, path, err)
			}
		}
		if err := c.do(owner, shown); errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("%s by the owner: %v", c.what, err)
		}
	}
	if !exists(t, other, secret) {
		t.Error("whether a znode exists is no secret")
	}
	acl, _, err := other.GetACL(shown)
	if err != nil || acl[0].ID != "ann:x" {
		t.Errorf("what another sees of the list: %v, %v", acl, err)
	}
	if err := owner.Delete(secret, -1); err != nil { // the parent is open
		t.Error(err)
	}
}
