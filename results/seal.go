package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// sealed writes the manifest as the text of its file, with its digest: the
// SHA-256 of the same text in which the digest is empty.
func (m Manifest) sealed() ([]byte, error) {
	m.Digest = ""
	b, err := m.text()
	if err != nil {
		return nil, err
	}
	m.Digest = digestBytes(b)
	return m.text()
}

func (m Manifest) text() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// checkSeal compares the text of a manifest with the digest that it holds. One
// without a digest, of a kbench that wrote none, passes.
func checkSeal(text []byte, digest string) error {
	if digest == "" || digestBytes(bytes.Replace(text, []byte(digest), nil, 1)) == digest {
		return nil
	}
	return errors.New(manifestName + " is not what the run wrote")
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
