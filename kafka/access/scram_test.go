package access

import (
	"encoding/base64"
	"testing"
)

// TestScramKeys checks the example of RFC 7677, section 3: user, pencil. The
// keys follow from its salt and iterations; its proof and verifier are made of
// them.
func TestScramKeys(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	salted, err := ScramSHA256.SaltPassword("pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	k := ScramSHA256.KeysOf(salted, salt, 4096)
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"stored key", k.StoredKey, "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="},
		{"server key", k.ServerKey, "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="},
	} {
		if got := base64.StdEncoding.EncodeToString(c.got); got != c.want {
			t.Errorf("%s %s, want %s", c.what, got, c.want)
		}
	}
	if m, ok := ParseMechanism("SCRAM-SHA-512"); !ok || m != ScramSHA512 || Mechanism(3).Known() {
		t.Error("mechanisms and their names")
	}
}
