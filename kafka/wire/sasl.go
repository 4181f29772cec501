package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
)

const (
	keySaslHandshake    int16 = 17
	keySaslAuthenticate int16 = 36
	// maxScramSteps bounds an exchange: SCRAM takes two messages.
	maxScramSteps = 4
	// failedAuthenticationDelay is Kafka's
	// connection.failed.authentication.delay.ms: it slows down who guesses.
	failedAuthenticationDelay = 100 * time.Millisecond
)

// SASL makes clients authenticate before anything else is served. Its functions
// are called on connections' goroutines.
type SASL struct {
	// Mechanisms are those of SCRAM that are offered, in the order of
	// preference.
	Mechanisms []access.Mechanism
	// Keys finds what a user's password is checked against; ok is false for
	// an unknown user.
	Keys func(user string, m access.Mechanism) (k access.Keys, ok bool)
	// Token finds the delegation token of an id, with which a client of SCRAM
	// logs in as the token's owner (KIP-48); nil knows none.
	Token func(id string) (Token, bool)
	// Plain checks a password that the client shows as it is (RFC 4616); nil
	// does not offer PLAIN. Without TLS everybody on the way can read it.
	Plain func(user, password string) bool
}

// Token is a delegation token as a server knows it.
type Token struct {
	Owner   string    // the principal who logs in
	Secret  string    // what its holder gives as the password
	Expires time.Time // the connection ends with it
}

// mechanismPlain is the name of RFC 4616's mechanism.
const mechanismPlain = "PLAIN"

// check finds mistakes of the configuration.
func (s *SASL) check() error {
	if s.Plain == nil && len(s.Mechanisms) == 0 || s.Keys == nil && len(s.Mechanisms) > 0 {
		return errors.New("SASL needs a mechanism and a source of keys")
	}
	for _, m := range s.Mechanisms {
		if !m.Known() {
			return fmt.Errorf("SASL offers %s, which is unknown", m)
		}
	}
	return nil
}

// names lists what is offered.
func (s *SASL) names() []string {
	var out []string
	for _, m := range s.Mechanisms {
		out = append(out, m.String())
	}
	if s.Plain != nil {
		out = append(out, mechanismPlain)
	}
	return out
}

// errRefused closes a connection after its answer was written.
var errRefused = errors.New("authentication failed")

// identity is who a client turned out to be.
type identity struct {
	principal string
	byToken   bool      // by a delegation token
	until     time.Time // when it ends; zero for never
}

// exchange is one mechanism's conversation: tokens in, tokens out, until it says
// who the client is.
type exchange interface {
	step(token []byte) (answer []byte, who *identity, err error)
}

// authentication is the state of one connection's SASL exchange (KIP-43,
// KIP-152): handshake, then tokens, then done. A second handshake begins anew,
// as clients do that renew their session (KIP-368).
type authentication struct {
	sasl  *SASL
	done  bool
	until time.Time // when the session ends; zero for never
	now   exchange  // under way
	mech  string
	steps int
}

// serves reports whether the key may be asked for now.
func (a *authentication) serves(key int16) bool {
	return a.sasl == nil || key == keySaslHandshake || key == keySaslAuthenticate || a.done && !a.over()
}

// over reports whether what the client logged in with has ended.
func (a *authentication) over() bool { return !a.until.IsZero() && time.Now().After(a.until) }

// handshake answers the choice of a mechanism, with ILLEGAL_SASL_STATE where the
// listener has none, as Kafka's handlers do.
func (a *authentication) handshake(req *kmsg.SASLHandshakeRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	if a.sasl == nil {
		resp.ErrorCode = int16(kafka.IllegalSaslState)
		return resp, nil
	}
	resp.SupportedMechanisms = a.sasl.names()
	if req.Version == 0 {
		// Version 0 is followed by tokens without frames, which no client
		// since Kafka 1.0 sends.
		resp.ErrorCode = int16(kafka.UnsupportedSaslMechanism)
		return resp, fmt.Errorf("%w: SaslHandshake version 0", errRefused)
	}
	if !slices.Contains(resp.SupportedMechanisms, req.Mechanism) {
		resp.ErrorCode = int16(kafka.UnsupportedSaslMechanism)
		return resp, fmt.Errorf("%w: the mechanism %.64q is not offered, %v are", errRefused, req.Mechanism, resp.SupportedMechanisms)
	}
	a.mech, a.steps = req.Mechanism, 0
	if req.Mechanism == mechanismPlain {
		a.now = plainExchange{a.sasl}
		return resp, nil
	}
	m, _ := access.ParseMechanism(req.Mechanism)
	var err error
	a.now, err = newScramExchange(a.sasl, m)
	return resp, err
}

// authenticate answers one token, as handshake does where there is no SASL; who is
// set with the last one.
func (a *authentication) authenticate(req *kmsg.SASLAuthenticateRequest) (resp *kmsg.SASLAuthenticateResponse, who *identity, err error) {
	resp = kmsg.NewPtrSASLAuthenticateResponse()
	if a.sasl == nil {
		resp.ErrorCode = int16(kafka.IllegalSaslState)
		return resp, nil, nil
	}
	if a.now == nil {
		resp.ErrorCode = int16(kafka.IllegalSaslState)
		return resp, nil, fmt.Errorf("%w: a token before the handshake", errRefused)
	}
	a.steps++
	answer, who, err := a.now.step(req.SASLAuthBytes)
	if err == nil && a.steps > maxScramSteps {
		err = fmt.Errorf("no end after %d tokens", maxScramSteps)
	}
	if err != nil {
		// One answer for an unknown user and a wrong password.
		resp.ErrorCode = int16(kafka.SaslAuthenticationFailed)
		resp.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("Authentication failed during authentication due to invalid credentials with SASL mechanism %s", a.mech))
		return resp, nil, fmt.Errorf("%w by %s: %w", errRefused, a.mech, err)
	}
	resp.SASLAuthBytes = answer
	if who != nil {
		a.done, a.now, a.until = true, nil, who.until
		if !who.until.IsZero() {
			resp.SessionLifetimeMillis = max(1, time.Until(who.until).Milliseconds())
		}
	}
	return resp, who, nil
}
