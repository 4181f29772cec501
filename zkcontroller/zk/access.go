package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kbench/kafka/access"
)

// maxACLTries bounds how often a change of ACLs is made again after another
// broker changed those of the same resource.
const maxACLTries = 50

// EnsureAccessPaths creates the roots of ACLs and delegation tokens that are
// missing.
func (s *Session) EnsureAccessPaths(ctx context.Context) error {
	return s.ensureAll(ctx, []string{aclRoot, ACLChangesPath, extendedACLRoot, PrefixChangesPath, delegationTokensPath, TokenChangesPath})
}

// ACLs gives the bindings of a resource; nil where there is none.
func (s *Session) ACLs(ctx context.Context, r ACLResource) ([]access.Binding, error) {
	bindings, _, err := s.acls(ctx, r)
	return bindings, err
}

// acls also gives the version of the znode, -1 where there is none.
func (s *Session) acls(ctx context.Context, r ACLResource) ([]access.Binding, int32, error) {
	g := s.Do(ctx, Get(r.Path()))
	if errors.Is(g.Err, ErrNoNode) {
		return nil, -1, nil
	}
	if g.Err != nil {
		return nil, -1, fmt.Errorf("zk: read %s: %w", r.Path(), g.Err)
	}
	bindings, err := DecodeACLs(r, g.Data)
	return bindings, g.Version, err
}

// AllACLs gives the bindings of all resources.
func (s *Session) AllACLs(ctx context.Context) ([]access.Binding, error) {
	var parents []ACLResource // without a name
	for _, pattern := range []access.PatternType{access.Literal, access.Prefixed} {
		for t := access.Topic; t <= access.User; t++ {
			parents = append(parents, ACLResource{Type: t, Pattern: pattern})
		}
	}
	names := make([][]string, len(parents))
	err := s.readMany(ctx, len(parents), func(i int) Op { return Children(ACLRoot(parents[i].Pattern) + "/" + parents[i].Type.String()) },
		func(i int, r Result) error { names[i] = r.Children; return nil })
	if err != nil {
		return nil, err
	}
	var resources []ACLResource
	for i, p := range parents {
		for _, name := range names[i] {
			resources = append(resources, ACLResource{p.Type, name, p.Pattern})
		}
	}
	bindings := make([][]access.Binding, len(resources))
	err = s.readMany(ctx, len(resources), func(i int) Op { return Get(resources[i].Path()) }, func(i int, r Result) (err error) {
		bindings[i], err = DecodeACLs(resources[i], r.Data)
		return err
	})
	return slices.Concat(bindings...), err
}

// readMany reads n znodes and hands over those that are there.
func (s *Session) readMany(ctx context.Context, n int, op func(i int) Op, take func(i int, r Result) error) error {
	errs := make([]error, n)
	err := s.Pipeline(ctx, n, op, func(i int, r Result) {
		switch {
		case errors.Is(r.Err, ErrNoNode):
		case r.Err != nil:
			o := op(i)
			errs[i] = fmt.Errorf("zk: read %s: %w", o.path, r.Err)
		default:
			errs[i] = take(i, r)
		}
	})
	return errors.Join(err, errors.Join(errs...))
}

// ChangeACLs makes change of what a resource's bindings are, as often as others
// write in between, and tells all brokers where they differ afterwards. It gives
// the bindings that hold then. change must not write to its argument.
func (s *Session) ChangeACLs(ctx context.Context, r ACLResource, change func([]access.Binding) []access.Binding) ([]access.Binding, error) {
	for range maxACLTries {
		have, version, err := s.acls(ctx, r)
		if err != nil {
			return nil, err
		}
		want := change(have)
		if slices.Equal(have, want) {
			return want, nil
		}
		res := s.writeACLs(ctx, r, want, version)
		switch {
		case res.Err == nil:
			path, data := r.change()
			if c := s.Do(ctx, CreateSequential(path, data)); c.Err != nil {
				return nil, fmt.Errorf("zk: tell of the ACLs of %s: %w", r.Path(), c.Err)
			}
			return want, nil
		case errors.Is(res.Err, ErrBadVersion), errors.Is(res.Err, ErrNodeExists), errors.Is(res.Err, ErrNoNode):
			continue // another broker was faster, or a lost reply was one's own
		}
		return nil, fmt.Errorf("zk: write %s: %w", r.Path(), res.Err)
	}
	return nil, fmt.Errorf("zk: %s changed %d times meanwhile", r.Path(), maxACLTries)
}

func (s *Session) writeACLs(ctx context.Context, r ACLResource, want []access.Binding, version int32) Result {
	switch {
	case len(want) == 0:
		return s.Do(ctx, Delete(r.Path(), version))
	case version >= 0:
		return s.Do(ctx, Set(r.Path(), EncodeACLs(want), version))
	}
	if err := s.ensure(ctx, ACLRoot(r.Pattern)+"/"+r.Type.String()); err != nil {
		return Result{Err: err}
	}
	return s.Do(ctx, Create(r.Path(), EncodeACLs(want)))
}

// Tokens gives all delegation tokens.
func (s *Session) Tokens(ctx context.Context) ([]Token, error) {
	var ids []string
	err := s.readMany(ctx, 1, func(int) Op { return Children(delegationTokensPath) }, func(_ int, r Result) error { ids = r.Children; return nil })
	if err != nil {
		return nil, err
	}
	found := make([]*Token, len(ids))
	err = s.readMany(ctx, len(ids), func(i int) Op { return Get(TokenPath(ids[i])) }, func(i int, r Result) error {
		t, err := DecodeToken(r.Data)
		found[i] = &t
		return err
	})
	var out []Token
	for _, t := range found {
		if t != nil {
			out = append(out, *t)
		}
	}
	return out, err
}

// Entities gives the configuration of all users, clients and addresses that
// have any, by entity path: users/u, users/u/clients/c, clients/c, ips/i.
func (s *Session) Entities(ctx context.Context) (map[string]map[string]string, error) {
	children := func(parents []string, join string) ([]string, error) {
		names := make([][]string, len(parents))
		err := s.readMany(ctx, len(parents), func(i int) Op { return Children(ConfigPath + "/" + parents[i] + join) },
			func(i int, r Result) error { names[i] = r.Children; return nil })
		var paths []string
		for i, p := range parents {
			for _, n := range names[i] {
				paths = append(paths, p+join+"/"+n)
			}
		}
		return paths, err
	}
	paths, err := children([]string{UserConfigs, ClientConfigs, IPConfigs}, "")
	if err != nil {
		return nil, err
	}
	users := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.HasPrefix(p, UserConfigs+"/") })
	ofUsers, err := children(users, "/"+ClientConfigs)
	if err != nil {
		return nil, err
	}
	paths = append(paths, ofUsers...)
	values := make([]map[string]string, len(paths))
	err = s.readMany(ctx, len(paths), func(i int) Op { return Get(ConfigPath + "/" + paths[i]) }, func(i int, r Result) (err error) {
		values[i], err = DecodeConfig(r.Data)
		return err
	})
	out := map[string]map[string]string{}
	for i, p := range paths {
		if len(values[i]) > 0 {
			out[p] = values[i]
		}
	}
	return out, err
}

// Token gives one delegation token, false where there is none.
func (s *Session) Token(ctx context.Context, id string) (Token, bool, error) {
	r := s.Do(ctx, Get(TokenPath(id)))
	if errors.Is(r.Err, ErrNoNode) {
		return Token{}, false, nil
	}
	if r.Err != nil {
		return Token{}, false, fmt.Errorf("zk: read delegation token %s: %w", id, r.Err)
	}
	t, err := DecodeToken(r.Data)
	return t, err == nil, err
}

// WriteToken makes or replaces a delegation token and tells all brokers.
func (s *Session) WriteToken(ctx context.Context, t Token) error {
	r := s.Do(ctx, Set(TokenPath(t.ID), EncodeToken(t), AnyVersion))
	if errors.Is(r.Err, ErrNoNode) {
		r = s.Do(ctx, Create(TokenPath(t.ID), EncodeToken(t)))
	}
	if r.Err != nil {
		return fmt.Errorf("zk: write delegation token %s: %w", t.ID, r.Err)
	}
	return s.tellToken(ctx, t.ID)
}

// RemoveToken deletes a delegation token, if it is there, and tells all brokers.
func (s *Session) RemoveToken(ctx context.Context, id string) error {
	if r := s.Do(ctx, Delete(TokenPath(id), AnyVersion)); r.Err != nil && !errors.Is(r.Err, ErrNoNode) {
		return fmt.Errorf("zk: remove delegation token %s: %w", id, r.Err)
	}
	return s.tellToken(ctx, id)
}

func (s *Session) tellToken(ctx context.Context, id string) error {
	if r := s.Do(ctx, CreateSequential(TokenChangesPath+"/token_change_", []byte(id))); r.Err != nil {
		return fmt.Errorf("zk: tell of delegation token %s: %w", id, r.Err)
	}
	return nil
}
