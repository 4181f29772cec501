package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/xdg-go/scram"

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

// SASL makes clients authenticate by SCRAM before anything else is served.
type SASL struct {
	// Mechanisms are those that are offered, in the order of preference.
	Mechanisms []access.Mechanism
	// Keys finds what a user's password is checked against; ok is false for
	// an unknown user. It is called on connections' goroutines.
	Keys func(user string, m access.Mechanism) (k access.Keys, ok bool)
}

// check finds mistakes of the configuration.
func (s *SASL) check() error {
	if s.Keys == nil || len(s.Mechanisms) == 0 {
		return errors.New("SASL needs a mechanism and a source of keys")
	}
	for _, m := range s.Mechanisms {
		if !m.Known() {
			return fmt.Errorf("SASL offers %s, which is unknown", m)
		}
	}
	return nil
}

// errRefused closes a connection after its answer was written.
var errRefused = errors.New("authentication failed")

// authentication is the state of one connection's SASL exchange (KIP-43,
// KIP-152): handshake, then tokens, then done. A second handshake begins anew,
// as clients do that renew their session (KIP-368).
type authentication struct {
	sasl  *SASL
	done  bool
	conv  *scram.ServerConversation
	mech  access.Mechanism
	steps int
}

// serves reports whether the key may be asked for now.
func (a *authentication) serves(key int16) bool {
	return a.sasl == nil || a.done || key == keySaslHandshake || key == keySaslAuthenticate
}

// handshake answers the choice of a mechanism.
func (a *authentication) handshake(req *kmsg.SASLHandshakeRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	for _, m := range a.sasl.Mechanisms {
		resp.SupportedMechanisms = append(resp.SupportedMechanisms, m.String())
	}
	if req.Version == 0 {
		// Version 0 is followed by tokens without frames, which no client
		// since Kafka 1.0 sends.
		resp.ErrorCode = int16(kafka.UnsupportedSaslMechanism)
		return resp, fmt.Errorf("%w: SaslHandshake version 0", errRefused)
	}
	for _, m := range a.sasl.Mechanisms {
		if m.String() == req.Mechanism {
			return resp, a.begin(m)
		}
	}
	resp.ErrorCode = int16(kafka.UnsupportedSaslMechanism)
	return resp, fmt.Errorf("%w: the mechanism %.64q is not offered", errRefused, req.Mechanism)
}

func (a *authentication) begin(m access.Mechanism) error {
	hash := scram.SHA256
	if m == access.ScramSHA512 {
		hash = scram.SHA512
	}
	srv, err := hash.NewServer(func(user string) (scram.StoredCredentials, error) {
		k, ok := a.sasl.Keys(user, m)
		if !ok {
			return scram.StoredCredentials{}, errors.New("unknown user")
		}
		return scram.StoredCredentials{
			KeyFactors: scram.KeyFactors{Salt: string(k.Salt), Iters: int(k.Iterations)},
			StoredKey:  k.StoredKey, ServerKey: k.ServerKey,
		}, nil
	})
	if err != nil {
		return fmt.Errorf("begin %s: %w", m, err)
	}
	a.conv, a.mech, a.steps = srv.NewConversation(), m, 0
	return nil
}

// authenticate answers one token. principal is set with the last one.
func (a *authentication) authenticate(req *kmsg.SASLAuthenticateRequest) (resp *kmsg.SASLAuthenticateResponse, principal string, err error) {
	resp = kmsg.NewPtrSASLAuthenticateResponse()
	if a.conv == nil {
		resp.ErrorCode = int16(kafka.IllegalSaslState)
		return resp, "", fmt.Errorf("%w: a token before the handshake", errRefused)
	}
	a.steps++
	token, err := a.conv.Step(string(req.SASLAuthBytes))
	if err != nil || a.steps > maxScramSteps {
		// One answer for an unknown user and a wrong password.
		resp.ErrorCode = int16(kafka.SaslAuthenticationFailed)
		resp.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("Authentication failed during authentication due to invalid credentials with SASL mechanism %s", a.mech))
		return resp, "", fmt.Errorf("%w by %s: %w", errRefused, a.mech, err)
	}
	resp.SASLAuthBytes = []byte(token)
	if a.conv.Done() && a.conv.Valid() {
		principal, a.done, a.conv = "User:"+a.conv.Username(), true, nil
	}
	return resp, principal, nil
}
