package zk

import (
	"crypto/md5" //nolint:gosec // RFC 2831 is MD5, and ZooKeeper has no other password mechanism
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// The service and host of ZooKeeper's DIGEST-MD5, the same at all servers.
const digestURI = "zookeeper/zk-sasl-md5"

// digestMD5 answers a challenge of RFC 2831 with the quality of protection auth,
// and gives what the server must say then to show that it knows the password.
func digestMD5(user, password, challenge string) (answer, proof string, err error) {
	given := digestDirectives(challenge)
	nonce, realm := given["nonce"], given["realm"]
	if nonce == "" || given["algorithm"] != "md5-sess" {
		return "", "", fmt.Errorf("%w: %.120q is no challenge of DIGEST-MD5", ErrAuthFailed, challenge)
	}
	cnonce := rand.Text()
	secret := md5.Sum([]byte(user + ":" + realm + ":" + password)) //nolint:gosec // as above
	ha1 := hexMD5(string(secret[:]) + ":" + nonce + ":" + cnonce)
	respond := func(method string) string {
		return hexMD5(ha1 + ":" + nonce + ":00000001:" + cnonce + ":auth:" + hexMD5(method+":"+digestURI))
	}
	answer = fmt.Sprintf(`charset=utf-8,username=%s,realm=%s,nonce=%s,nc=00000001,cnonce=%s,digest-uri=%s,maxbuf=65536,response=%s,qop=auth`,
		quoted(user), quoted(realm), quoted(nonce), quoted(cnonce), quoted(digestURI), respond("AUTHENTICATE"))
	return answer, "rspauth=" + respond(""), nil
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// digestDirectives reads name=value pairs, whose values may be quoted.
func digestDirectives(s string) map[string]string {
	out := map[string]string{}
	for s != "" {
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			return out
		}
		var value strings.Builder
		quotes, i := false, 0
		for ; i < len(rest); i++ {
			c := rest[i]
			if c == '"' {
				quotes = !quotes
				continue
			}
			if c == ',' && !quotes {
				break
			}
			if c == '\\' && quotes && i+1 < len(rest) {
				i++
				c = rest[i]
			}
			value.WriteByte(c)
		}
		out[strings.TrimSpace(name)] = value.String()
		s = strings.TrimPrefix(rest[i:], ",")
	}
	return out
}
