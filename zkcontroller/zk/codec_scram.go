package zk

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"kbench/kafka/access"
)

// EncodeScram gives the value under which a SCRAM credential stands in the
// configuration of its user; the key is the mechanism's name.
func EncodeScram(k access.Keys) string {
	enc := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("salt=%s,stored_key=%s,server_key=%s,iterations=%d", enc(k.Salt), enc(k.StoredKey), enc(k.ServerKey), k.Iterations)
}

// DecodeScram reads such a value.
func DecodeScram(s string) (access.Keys, error) {
	var k access.Keys
	found := 0
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "salt":
			k.Salt, err = base64.StdEncoding.DecodeString(value)
		case "stored_key":
			k.StoredKey, err = base64.StdEncoding.DecodeString(value)
		case "server_key":
			k.ServerKey, err = base64.StdEncoding.DecodeString(value)
		case "iterations":
			var n int64
			n, err = strconv.ParseInt(value, 10, 32)
			k.Iterations = int32(n)
		default:
			continue
		}
		if err != nil {
			return access.Keys{}, fmt.Errorf("SCRAM credential: %s: %w", key, err) // never the value
		}
		found++
	}
	if found != 4 || k.Iterations <= 0 {
		return access.Keys{}, fmt.Errorf("SCRAM credential has %d of salt, stored_key, server_key and iterations", found)
	}
	return k, nil
}
