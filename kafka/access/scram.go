package access

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
)

// Mechanism is the number that Kafka gives a SCRAM mechanism.
type Mechanism int8

// The mechanisms (RFC 7677 and its SHA-512 kin).
const (
	ScramSHA256 Mechanism = 1
	ScramSHA512 Mechanism = 2
)

// The iterations that Kafka accepts; the lower bound is RFC 7677's.
const (
	MinIterations = 4096
	MaxIterations = 16384
)

var mechanisms = map[Mechanism]struct {
	name string
	hash func() hash.Hash
}{
	ScramSHA256: {"SCRAM-SHA-256", sha256.New},
	ScramSHA512: {"SCRAM-SHA-512", sha512.New},
}

// Mechanisms lists the mechanisms by number.
func Mechanisms() []Mechanism { return []Mechanism{ScramSHA256, ScramSHA512} }

// String gives the mechanism's registered name, such as SCRAM-SHA-256.
func (m Mechanism) String() string {
	if k, ok := mechanisms[m]; ok {
		return k.name
	}
	return fmt.Sprintf("mechanism %d", int8(m))
}

// ParseMechanism reads a mechanism's registered name.
func ParseMechanism(name string) (Mechanism, bool) {
	for _, m := range Mechanisms() {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// Known reports whether the number is a mechanism's.
func (m Mechanism) Known() bool { return mechanisms[m].hash != nil }

// Keys is what a server keeps of a password (RFC 5802, section 3): enough to
// check it and to prove itself, not enough to log in elsewhere.
type Keys struct {
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
}

// KeysOf derives the keys of a salted password, which is what an
// AlterUserScramCredentials request carries. The mechanism must be Known.
func (m Mechanism) KeysOf(saltedPassword, salt []byte, iterations int32) Keys {
	h := mechanisms[m].hash
	stored := h()
	stored.Write(mac(h, saltedPassword, "Client Key"))
	return Keys{Salt: salt, StoredKey: stored.Sum(nil), ServerKey: mac(h, saltedPassword, "Server Key"), Iterations: iterations}
}

// SaltPassword is Hi of RFC 5802. The mechanism must be Known; the error is
// that of an impossible iteration count.
func (m Mechanism) SaltPassword(password string, salt []byte, iterations int32) ([]byte, error) {
	h := mechanisms[m].hash
	return pbkdf2.Key(h, password, salt, int(iterations), h().Size())
}

func mac(h func() hash.Hash, key []byte, text string) []byte {
	m := hmac.New(h, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
