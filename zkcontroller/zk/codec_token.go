package zk

import (
	"encoding/json"
	"fmt"
	"net/url"
)

// Token is a delegation token (KIP-48) without its secret. Principals are
// type:name, times milliseconds since the epoch.
type Token struct {
	ID        string
	Owner     string
	Requester string
	Renewers  []string
	IssuedMs  int64
	MaxMs     int64
	ExpiresMs int64
}

// TokenPath holds a delegation token.
func TokenPath(id string) string { return delegationTokensPath + "/" + id }

// EncodeToken gives the data of a token, version 3.
func EncodeToken(t Token) []byte {
	b := fmt.Appendf(nil, `{"issueTimestamp":%d,"renewers":[`, t.IssuedMs)
	for i, r := range t.Renewers {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, Sanitize(r))
	}
	b = appendString(append(b, `],"tokenRequester":`...), Sanitize(t.Requester))
	b = appendString(append(b, `,"tokenId":`...), t.ID)
	b = appendString(append(b, `,"owner":`...), Sanitize(t.Owner))
	return fmt.Appendf(b, `,"expiryTimestamp":%d,"maxTimestamp":%d,"version":3}`, t.ExpiresMs, t.MaxMs)
}

// DecodeToken reads a token of version 1 to 3; in older ones the owner asked for
// it himself.
func DecodeToken(data []byte) (Token, error) {
	var j struct {
		ID        string   `json:"tokenId"`
		Owner     string   `json:"owner"`
		Requester string   `json:"tokenRequester"`
		Renewers  []string `json:"renewers"`
		Issued    int64    `json:"issueTimestamp"`
		Max       int64    `json:"maxTimestamp"`
		Expires   int64    `json:"expiryTimestamp"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return Token{}, fmt.Errorf("delegation token %.80q: %w", data, err)
	}
	if j.ID == "" || j.Owner == "" {
		return Token{}, fmt.Errorf("delegation token %.80q lacks its id or owner", data)
	}
	if j.Requester == "" {
		j.Requester = j.Owner
	}
	t := Token{ID: j.ID, IssuedMs: j.Issued, MaxMs: j.Max, ExpiresMs: j.Expires}
	for _, p := range []struct {
		to   *string
		from string
	}{{&t.Owner, j.Owner}, {&t.Requester, j.Requester}} {
		var err error
		if *p.to, err = Desanitize(p.from); err != nil {
			return Token{}, err
		}
	}
	for _, r := range j.Renewers {
		name, err := Desanitize(r)
		if err != nil {
			return Token{}, err
		}
		t.Renewers = append(t.Renewers, name)
	}
	return t, nil
}

// Desanitize gives the name that Sanitize made s of.
func Desanitize(s string) (string, error) {
	name, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("name %.80q: %w", s, err)
	}
	return name, nil
}
