package guard

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

func codeOf(t *testing.T, resp kmsg.Response) kafka.ErrorCode {
	t.Helper()
	r, ok := resp.(*kmsg.CreateDelegationTokenResponse)
	if !ok {
		t.Fatalf("%T", resp)
	}
	return kafka.ErrorCode(r.ErrorCode)
}

func TestTokensForOthers(t *testing.T) {
	forBob := kmsg.NewPtrCreateDelegationTokenRequest()
	forBob.Version = 3
	forBob.OwnerPrincipalType, forBob.OwnerPrincipalName = kmsg.StringPtr("User"), kmsg.StringPtr("bob")
	g := newRig()
	if got := codeOf(t, g.ask(t, forBob)); got != kafka.DelegationTokenAuthorizationFailed {
		t.Errorf("without permission: %v", got)
	}
	own := kmsg.NewPtrCreateDelegationTokenRequest()
	if got := codeOf(t, g.ask(t, own)); got != kafka.None {
		t.Errorf("one's own: %v", got)
	}
	g = newRig(allow(access.User, "User:bob", access.CreateTokens))
	if got := codeOf(t, g.ask(t, forBob)); got != kafka.None {
		t.Errorf("with permission: %v", got)
	}
}

func TestTokensShown(t *testing.T) {
	answer := func(kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrDescribeDelegationTokenResponse()
		for id, owner := range map[string]string{"1": "ann", "2": "bob", "3": "eve"} {
			d := kmsg.NewDescribeDelegationTokenResponseTokenDetail()
			d.TokenID, d.PrincipalType, d.PrincipalName = id, "User", owner
			resp.TokenDetails = append(resp.TokenDetails, d)
		}
		return resp
	}
	for n, bindings := range [][]access.Binding{
		1: {},
		2: {allow(access.DelegationToken, "2", access.Describe)},
		3: {allow(access.DelegationToken, "2", access.Describe), allow(access.User, "User:eve", access.DescribeTokens)},
	} {
		if n == 0 {
			continue
		}
		g := newRig(bindings...)
		g.answer = answer
		resp := g.ask(t, kmsg.NewPtrDescribeDelegationTokenRequest()).(*kmsg.DescribeDelegationTokenResponse)
		if len(resp.TokenDetails) != n {
			t.Errorf("%d tokens shown, want %d", len(resp.TokenDetails), n)
		}
	}
}

// TestTokensByToken: who logged in with a token may not ask about tokens, with
// and without an authorizer.
func TestTokensByToken(t *testing.T) {
	req := kmsg.NewPtrCreateDelegationTokenRequest()
	handle := OverImage(nil, metadata.Empty, func() bool { return true }).Handler(func(context.Context, *wire.Request) (kmsg.Response, error) {
		return req.ResponseKind(), nil
	})
	for byToken, want := range map[bool]kafka.ErrorCode{true: kafka.DelegationTokenRequestNotAllowed, false: kafka.None} {
		resp, err := handle(t.Context(), &wire.Request{Key: req.Key(), Principal: "User:ann", ByToken: byToken, Body: req})
		if err != nil || codeOf(t, resp) != want {
			t.Errorf("by a token %v: %v, %v", byToken, resp, err)
		}
	}
}

// TestOverImage: super users alone before the ACLs are there, then by the ACLs of
// the moment.
func TestOverImage(t *testing.T) {
	image, ready := metadata.Empty(), false
	g := OverImage(&access.Config{SuperUsers: []string{"User:root"}, AllowIfNone: true},
		func() *metadata.Image { return image }, func() bool { return ready })
	may := func(principal string) bool {
		return g.Authorizer().Allows(access.Action{
			Principal: principal, Host: "10.0.0.7", Operation: access.Write, ResourceType: access.Topic, ResourceName: "orders",
		})
	}
	if may("User:ann") || !may("User:root") {
		t.Error("before the ACLs are there")
	}
	ready = true
	if !may("User:ann") {
		t.Error("no ACL, and everybody is allowed then")
	}
	d := metadata.NewDelta(image)
	if err := d.Replay(&metadata.AccessControlEntryRecord{
		ID: kafka.UUID{1}, ResourceType: access.Topic, ResourceName: "orders", PatternType: access.Literal,
		Principal: "User:bob", Host: "*", Operation: access.Write, PermissionType: access.Allow,
	}); err != nil {
		t.Fatal(err)
	}
	image = d.Apply(1, 1)
	if may("User:ann") || !may("User:bob") || !may("User:root") {
		t.Error("after an ACL for bob")
	}
}
