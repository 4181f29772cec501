package wire

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdg-go/scram"

	"kbench/kafka/access"
)

// tokenExtension is the attribute by which a client of SCRAM says that its user
// is the id of a delegation token (KIP-48).
const tokenExtension = "tokenauth=true"

// scramExchange is SCRAM (RFC 5802) with Kafka's extension for tokens.
type scramExchange struct {
	sasl  *SASL
	mech  access.Mechanism
	conv  *scram.ServerConversation
	begun bool
	token *Token // that the client named
}

func newScramExchange(s *SASL, m access.Mechanism) (*scramExchange, error) {
	e := &scramExchange{sasl: s, mech: m}
	hash := scram.SHA256
	if m == access.ScramSHA512 {
		hash = scram.SHA512
	}
	srv, err := hash.NewServer(e.credentials)
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", m, err)
	}
	e.conv = srv.NewConversation()
	return e, nil
}

// credentials finds the keys of a user, or of the token that this client names.
func (e *scramExchange) credentials(user string) (scram.StoredCredentials, error) {
	k, ok := access.Keys{}, false
	if e.token != nil {
		var err error
		if k, err = e.tokenKeys(); err != nil {
			return scram.StoredCredentials{}, err
		}
	} else if k, ok = e.sasl.Keys(user, e.mech); !ok {
		return scram.StoredCredentials{}, errors.New("unknown user")
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(k.Salt), Iters: int(k.Iterations)},
		StoredKey:  k.StoredKey, ServerKey: k.ServerKey,
	}, nil
}

// tokenKeys makes the keys of a token's secret, which nobody stores.
func (e *scramExchange) tokenKeys() (access.Keys, error) {
	salt := []byte(rand.Text())
	salted, err := e.mech.SaltPassword(e.token.Secret, salt, access.MinIterations)
	if err != nil {
		return access.Keys{}, err
	}
	return e.mech.KeysOf(salted, salt, access.MinIterations), nil
}

func (e *scramExchange) step(token []byte) ([]byte, *identity, error) {
	if !e.begun {
		e.begun = true
		if err := e.findToken(string(token)); err != nil {
			return nil, nil, err
		}
	}
	answer, err := e.conv.Step(string(token))
	if err != nil {
		return nil, nil, err
	}
	if !e.conv.Done() || !e.conv.Valid() {
		return []byte(answer), nil, nil
	}
	if e.token != nil {
		return []byte(answer), &identity{principal: e.token.Owner, byToken: true, until: e.token.Expires}, nil
	}
	return []byte(answer), &identity{principal: "User:" + e.conv.Username()}, nil
}

// findToken looks for the token of a first message that names one.
func (e *scramExchange) findToken(first string) error {
	fields := strings.Split(first, ",")
	if len(fields) < 5 || !slices.Contains(fields[4:], tokenExtension) {
		return nil
	}
	id := strings.TrimPrefix(fields[2], "n=")
	if e.sasl.Token == nil {
		return errors.New("a delegation token, and no token is taken here")
	}
	t, ok := e.sasl.Token(id)
	if !ok {
		return errors.New("unknown or expired delegation token")
	}
	e.token = &t
	return nil
}

// plainExchange is PLAIN (RFC 4616): one message of NUL-separated texts.
type plainExchange struct{ sasl *SASL }

func (e plainExchange) step(token []byte) ([]byte, *identity, error) {
	parts := bytes.Split(token, []byte{0})
	if len(parts) != 3 {
		return nil, nil, fmt.Errorf("a message of %d parts, 3 are due", len(parts))
	}
	as, user, password := string(parts[0]), string(parts[1]), string(parts[2])
	if user == "" || as != "" && as != user || !e.sasl.Plain(user, password) {
		return nil, nil, errors.New("unknown user, wrong password, or a name to act as that is another's")
	}
	return []byte{}, &identity{principal: "User:" + user}, nil
}
