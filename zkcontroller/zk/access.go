package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kbench/kafka/access"
)

// maxACLTries bounds how often a change of ACLs is made again after another
// broker changed those of the same resource.
const maxACLTries = 50

// EnsureAccessPaths creates the roots of ACLs and delegation tokens that are
// missing.
func (s *Session) EnsureAccessPaths(ctx context.Context) error {
	for _, p := range []string{aclRoot, ACLChangesPath, extendedACLRoot, PrefixChangesPath, delegationTokensPath, TokenChangesPath} {
		if err := s.ensure(ctx, p); err != nil {
			return err
		}
	}
	return nil
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

// ACLResources lists the resources that have ACLs.
func (s *Session) ACLResources(ctx context.Context) ([]ACLResource, error) {
	var out []ACLResource
	for _, pattern := range []access.PatternType{access.Literal, access.Prefixed} {
		for t := access.Topic; t <= access.User; t++ {
			r := s.Do(ctx, Children(ACLRoot(pattern)+"/"+t.String()))
			if errors.Is(r.Err, ErrNoNode) {
				continue
			}
			if r.Err != nil {
				return nil, fmt.Errorf("zk: list ACLs of type %s: %w", t, r.Err)
			}
			for _, name := range r.Children {
				out = append(out, ACLResource{t, name, pattern})
			}
		}
	}
	return out, nil
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
	r := s.Do(ctx, Children(delegationTokensPath))
	if errors.Is(r.Err, ErrNoNode) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, fmt.Errorf("zk: list delegation tokens: %w", r.Err)
	}
	var out []Token
	for _, id := range r.Children {
		t, found, err := s.Token(ctx, id)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, t)
		}
	}
	return out, nil
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
