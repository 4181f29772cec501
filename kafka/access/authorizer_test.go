package access

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAllows(t *testing.T) {
	allow := func(name string, p PatternType, who string, op Operation) Binding {
		return Binding{Topic, name, p, who, "*", op, Allow}
	}
	deny := func(name string, p PatternType, who string, op Operation) Binding {
		b := allow(name, p, who, op)
		b.Permission = Deny
		return b
	}
	for _, c := range []struct {
		name     string
		bindings []Binding
		act      Action
		want     bool
	}{
		{"nothing is allowed without a binding", nil, Action{"User:a", "h", Read, Topic, "t"}, false},
		{"literal", []Binding{allow("t", Literal, "User:a", Read)}, Action{"User:a", "h", Read, Topic, "t"}, true},
		{"another name", []Binding{allow("t", Literal, "User:a", Read)}, Action{"User:a", "h", Read, Topic, "tt"}, false},
		{"another principal", []Binding{allow("t", Literal, "User:a", Read)}, Action{"User:b", "h", Read, Topic, "t"}, false},
		{"another type", []Binding{allow("t", Literal, "User:a", Read)}, Action{"User:a", "h", Read, Group, "t"}, false},
		{"prefix", []Binding{allow("orders-", Prefixed, "User:a", Write)}, Action{"User:a", "h", Write, Topic, "orders-eu"}, true},
		{"the prefix itself", []Binding{allow("orders-", Prefixed, "User:a", Write)}, Action{"User:a", "h", Write, Topic, "orders-"}, true},
		{"wildcard", []Binding{allow("*", Literal, "User:*", Read)}, Action{"User:a", "h", Read, Topic, "t"}, true},
		{"a prefixed star is no wildcard", []Binding{allow("*", Prefixed, "User:*", Read)}, Action{"User:a", "h", Read, Topic, "t"}, false},
		{"reading implies describing", []Binding{allow("t", Literal, "User:a", Read)}, Action{"User:a", "h", Describe, Topic, "t"}, true},
		{"describing does not imply reading", []Binding{allow("t", Literal, "User:a", Describe)}, Action{"User:a", "h", Read, Topic, "t"}, false},
		{"altering configs implies describing them", []Binding{allow("t", Literal, "User:a", AlterConfigs)}, Action{"User:a", "h", DescribeConfigs, Topic, "t"}, true},
		{"all", []Binding{allow("t", Literal, "User:a", All)}, Action{"User:a", "h", Delete, Topic, "t"}, true},
		{"a denial wins over the more specific", []Binding{allow("t", Literal, "User:a", Read), deny("*", Literal, "User:*", All)}, Action{"User:a", "h", Read, Topic, "t"}, false},
		{"a denied reader may describe", []Binding{allow("t", Literal, "User:a", Describe), deny("t", Literal, "User:a", Read)}, Action{"User:a", "h", Describe, Topic, "t"}, true},
		{"host", []Binding{{Topic, "t", Literal, "User:a", "10.0.0.1", Read, Allow}}, Action{"User:a", "10.0.0.2", Read, Topic, "t"}, false},
		{"super user", []Binding{deny("t", Literal, "User:root", All)}, Action{"User:root", "h", Read, Topic, "t"}, true},
	} {
		a := NewAuthorizer(Config{SuperUsers: []string{"User:root"}}, slices.Values(c.bindings))
		if got := a.Allows(c.act); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var none *Authorizer
	if !none.Allows(Action{}) || !none.AllowsAny("", "", Write, Topic) {
		t.Error("a cluster without an authorizer refuses")
	}
	open := NewAuthorizer(Config{AllowIfNone: true}, slices.Values([]Binding{allow("t", Literal, "User:a", Read)}))
	if !open.Allows(Action{"User:b", "h", Read, Topic, "other"}) || open.Allows(Action{"User:b", "h", Read, Topic, "t"}) {
		t.Error("AllowIfNone is for resources without bindings, and for them alone")
	}
}

// allowsNaively reads every binding.
func allowsNaively(bindings []Binding, act Action) bool {
	allowed := false
	for _, b := range bindings {
		if b.ResourceType != act.ResourceType || !b.actsOn(act.ResourceName) || !(&Authorizer{}).concerns(b, act.Principal, act.Host) {
			continue
		}
		if b.Permission == Deny && (b.Operation == All || b.Operation == act.Operation) {
			return false
		}
		allowed = allowed || b.Permission == Allow && grants(b.Operation, act.Operation)
	}
	return allowed
}

func drawBinding(t *rapid.T) Binding {
	return Binding{
		ResourceType: rapid.SampledFrom([]ResourceType{Topic, Group}).Draw(t, "type"),
		ResourceName: rapid.SampledFrom([]string{"*", "a", "ab", "abc", "b"}).Draw(t, "name"),
		PatternType:  rapid.SampledFrom([]PatternType{Literal, Prefixed}).Draw(t, "pattern"),
		Principal:    rapid.SampledFrom([]string{"User:*", "User:x", "User:y"}).Draw(t, "who"),
		Host:         rapid.SampledFrom([]string{"*", "h", "g"}).Draw(t, "host"),
		Operation:    rapid.SampledFrom([]Operation{All, Read, Write, Describe}).Draw(t, "op"),
		Permission:   rapid.SampledFrom([]Permission{Allow, Allow, Deny}).Draw(t, "permission"),
	}
}

func TestAllowsAsTheNaiveReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bindings := rapid.SliceOfN(rapid.Custom(drawBinding), 0, 12).Draw(t, "bindings")
		act := Action{
			Principal: rapid.SampledFrom([]string{"User:x", "User:y", "Group:x"}).Draw(t, "who"), Host: "h",
			Operation: rapid.SampledFrom([]Operation{Read, Write, Describe}).Draw(t, "op"), ResourceType: Topic,
			ResourceName: rapid.SampledFrom([]string{"a", "ab", "abcd", "b", "c"}).Draw(t, "name"),
		}
		a := NewAuthorizer(Config{}, slices.Values(bindings))
		if got, want := a.Allows(act), allowsNaively(bindings, act); got != want {
			t.Fatalf("%+v: %v, want %v by %v", act, got, want, bindings)
		}
		if a.Allows(act) && !a.AllowsAny(act.Principal, act.Host, act.Operation, Topic) {
			t.Fatalf("%+v is allowed, and no topic is, by %v", act, bindings)
		}
	})
}

func TestHostRanges(t *testing.T) {
	for _, c := range []struct {
		host, from string
		want       bool
	}{
		{"10.1.0.0/16", "10.1.255.255", true},
		{"10.1.2.3/16", "10.1.0.0", true},
		{"10.1.0.0/16", "10.2.0.1", false},
		{"10.1.0.0/16", "10.1.0.0/16", true}, // the same words
		{"10.1.0.0/16", "h", false},
		{"10.1.0.0/16", "::ffff:10.1.0.7", true},
		{"2001:db8::/32", "2001:db8::7", true},
		{"2001:db8::/32", "2001:db9::7", false},
		{"10.1.0.0/33", "10.1.0.0", false},
	} {
		b := Binding{Topic, "t", Literal, "User:a", c.host, Read, Allow}
		for _, ranges := range []bool{true, false} {
			a, want := NewAuthorizer(Config{HostRanges: ranges}, slices.Values([]Binding{b})), c.want && (ranges || c.host == c.from)
			if got := a.Allows(Action{"User:a", c.from, Read, Topic, "t"}); got != want {
				t.Errorf("%s from %s, ranges %t: %t", c.host, c.from, ranges, got)
			}
			if got := a.AllowsAny("User:a", c.from, Read, Topic); got != want {
				t.Errorf("any, %s from %s, ranges %t: %t", c.host, c.from, ranges, got)
			}
		}
	}
}

func TestFilter(t *testing.T) {
	b := Binding{Topic, "orders-", Prefixed, "User:a", "*", Read, Allow}
	str := func(s string) *string { return &s }
	anything := Filter{ResourceType: AnyResource, PatternType: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
	for _, c := range []struct {
		name string
		edit func(*Filter)
		want bool
	}{
		{"anything", func(*Filter) {}, true},
		{"its name", func(f *Filter) { f.ResourceName = str("orders-") }, true},
		{"a name that it covers", func(f *Filter) { f.ResourceName = str("orders-eu") }, false},
		{"a name that it covers, by match", func(f *Filter) { f.ResourceName, f.PatternType = str("orders-eu"), Match }, true},
		{"literal", func(f *Filter) { f.PatternType = Literal }, false},
		{"another principal", func(f *Filter) { f.Principal = str("User:*") }, false},
		{"another host", func(f *Filter) { f.Host = str("10.0.0.1") }, false},
		{"another operation", func(f *Filter) { f.Operation = Write }, false},
		{"another permission", func(f *Filter) { f.Permission = Deny }, false},
		{"another type", func(f *Filter) { f.ResourceType = Group }, false},
	} {
		f := anything
		c.edit(&f)
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		if got := f.Matches(b); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (Filter{}).Validate() == nil {
		t.Error("a filter of zeros is valid")
	}
}

func TestValidate(t *testing.T) {
	good := Binding{Topic, "t", Literal, "User:a", "*", Read, Allow}
	for _, c := range []struct {
		edit func(*Binding)
		want string
	}{
		{func(*Binding) {}, ""},
		{func(b *Binding) { b.ResourceType, b.ResourceName, b.Operation = Cluster, ClusterName, ClusterAction }, ""},
		{func(b *Binding) { b.ResourceType = AnyResource }, "cannot have an ACL"},
		{func(b *Binding) { b.PatternType = Match }, "for filters"},
		{func(b *Binding) { b.Permission = AnyPermission }, "for filters"},
		{func(b *Binding) { b.Operation = ClusterAction }, "does not exist on a Topic"},
		{func(b *Binding) { b.ResourceName = "" }, "is empty"},
		{func(b *Binding) { b.ResourceType, b.Operation = Cluster, Alter }, "the only cluster resource"},
		{func(b *Binding) { b.Principal = "ann" }, "is not type:name"},
		{func(b *Binding) { b.Host = "" }, "host is empty"},
	} {
		b := good
		c.edit(&b)
		switch err := b.Validate(); {
		case (err == nil) != (c.want == ""), err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%v: %v, want %q", b, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for o := AnyOperation; o <= DescribeTokens; o++ {
		if got, ok := ParseOperation(o.String()); !ok || got != o {
			t.Errorf("operation %d reads back as %d", o, got)
		}
	}
	for r := AnyResource; r <= User; r++ {
		if got, ok := ParseResourceType(r.String()); !ok || got != r {
			t.Errorf("resource type %d reads back as %d", r, got)
		}
	}
	if p, ok := ParsePatternType("Prefixed"); !ok || p != Prefixed {
		t.Error(p)
	}
	if p, ok := ParsePermission("Deny"); !ok || p != Deny {
		t.Error(p)
	}
	if _, ok := ParseOperation(""); ok || Operation(99).String() != "99" {
		t.Error("a name for what is unknown")
	}
}
