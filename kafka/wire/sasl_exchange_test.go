package wire

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/kafka"
)

func TestPlain(t *testing.T) {
	s := oneUser(t)
	s.Plain = func(user, password string) bool { return user == "bob" && password == "secret" }
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, SASL: s})
	c, err := Dial(testContext(t), addr, DialOptions{SASL: plain.Auth{User: "bob", Pass: "secret"}.AsMechanism()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := principalOf(t, c); got != "User:bob" {
		t.Errorf("principal %q", got)
	}
	for name, m := range map[string]sasl.Mechanism{
		"wrong password":  plain.Auth{User: "bob", Pass: "guess"}.AsMechanism(),
		"as another user": plain.Auth{Zid: "ann", User: "bob", Pass: "secret"}.AsMechanism(),
	} {
		_, err := Dial(testContext(t), addr, DialOptions{SASL: m})
		if err == nil || !strings.Contains(err.Error(), kafka.SaslAuthenticationFailed.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDelegationToken logs in as a token's owner; the handler is told that it was
// by a token, also behind an envelope.
func TestDelegationToken(t *testing.T) {
	s := oneUser(t)
	ends := time.Now().Add(time.Hour)
	s.Token = func(id string) (Token, bool) {
		return Token{Owner: "User:ann", Secret: "c2VjcmV0", Expires: ends}, id == "token-1"
	}
	var seen *Request
	addr, _, _ := serve(t, ServerConfig{SASL: s, APIs: []API{metadataAPI(func(ctx context.Context, r *Request) (kmsg.Response, error) {
		seen = r
		return whoAmI(ctx, r)
	})}})
	token := scram.Auth{User: "token-1", Pass: "c2VjcmV0", IsToken: true}
	for _, m := range []sasl.Mechanism{token.AsSha256Mechanism(), token.AsSha512Mechanism()} {
		c, err := Dial(testContext(t), addr, DialOptions{SASL: m})
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		if got := principalOf(t, c); got != "User:ann" || !seen.ByToken {
			t.Errorf("%s: principal %q, by a token: %v", m.Name(), got, seen.ByToken)
		}
		c.Close()
	}
	inner, err := UnwrapRequest(seen, WrapRequest(seen, 1))
	if err != nil || inner.Principal != "User:ann" || !inner.ByToken {
		t.Errorf("inside an envelope: %+v, %v", inner, err)
	}
	for name, a := range map[string]scram.Auth{
		"wrong secret":      {User: "token-1", Pass: "Z3Vlc3M=", IsToken: true},
		"unknown token":     {User: "token-2", Pass: "c2VjcmV0", IsToken: true},
		"a token as a user": {User: "token-1", Pass: "c2VjcmV0"},
		"a user as a token": {User: "ann", Pass: "pencil", IsToken: true},
	} {
		_, err := Dial(testContext(t), addr, DialOptions{SASL: a.AsSha256Mechanism()})
		if err == nil || !strings.Contains(err.Error(), kafka.SaslAuthenticationFailed.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSessionOfAToken ends with the token (KIP-368).
func TestSessionOfAToken(t *testing.T) {
	a := authentication{sasl: oneUser(t), done: true, until: time.Now().Add(-time.Second)}
	if a.serves(3) || !a.serves(keySaslHandshake) {
		t.Error("an expired token serves on, or lets nobody log in again")
	}
	a.until = time.Now().Add(time.Hour)
	if !a.serves(3) {
		t.Error("a valid token does not serve")
	}
}

// TestMismatch has each side speak what the other does not: both say so, and
// neither waits.
func TestMismatch(t *testing.T) {
	plainAddr, _, plainLog := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}})
	_, err := Dial(testContext(t), plainAddr, DialOptions{TLS: clientTLS(t)})
	if err == nil || !strings.Contains(err.Error(), "the listener may be one without TLS") {
		t.Errorf("a client with TLS at a plain listener: %v", err)
	}
	plainLog.await(t, "the peer speaks TLS")

	ca := certificate(t, "authority", nil)
	addr, _, log := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, TLS: serverTLS(t, &ca)})
	_, err = dial(t, addr).Request(testContext(t), metadataRequest(9))
	if err == nil || !strings.Contains(err.Error(), "the listener may want TLS or SASL") {
		t.Errorf("a plain client at a listener with TLS: %v", err)
	}
	log.await(t, "speaks without TLS")
	_, err = Dial(testContext(t), addr, DialOptions{TLS: clientTLS(t)})
	if err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a client that does not trust the server: %v", err)
	}
	log.await(t, "bad certificate")
}
