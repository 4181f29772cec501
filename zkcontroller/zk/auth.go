package zk

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// Access is how a session shows itself to ZooKeeper, and what others may do with
// the znodes that it makes. The zero value shows nothing and leaves all open.
type Access struct {
	// User and Password log in. Digest does it by ZooKeeper's digest scheme,
	// whose server takes any password and compares identities only; otherwise
	// it is SASL with DIGEST-MD5 (RFC 2831), as Kafka's JAAS section Client
	// does, and a wrong password is refused.
	User, Password string
	Digest         bool
	// SetACL is zookeeper.set.acl: the znodes made from now on are the
	// session's own to write, as who logged in or by its TLS certificate.
	SetACL bool
}

// shows reports whether the session logs in.
func (a Access) shows() bool { return a.User != "" }

// sensitive are the roots of Kafka's layout that hold secrets.
var sensitive = []string{ConfigPath + "/" + UserConfigs, ConfigPath + "/" + BrokerConfigs, delegationTokensPath}

var (
	openACL     = gozk.WorldACL(gozk.PermAll)
	creatorACL  = gozk.AuthACL(gozk.PermAll)
	readableACL = append(gozk.AuthACL(gozk.PermAll), gozk.WorldACL(gozk.PermRead)...)
)

// acl is what a znode is made with, as Kafka's ZkData.defaultAcls has it: all to
// its creator and the sight of it to everybody, save of what is secret. The root
// of old consumers stays open.
func (a Access) acl(path string) []gozk.ACL {
	if !a.SetACL || path == consumersPath {
		return openACL
	}
	for _, root := range sensitive {
		if strings.HasPrefix(path, root) {
			return creatorACL
		}
	}
	return readableACL
}

const (
	opAuth = 100
	opSASL = 102
	// xidAuth is what ZooKeeper's clients send with either; the library takes no
	// notice of such answers.
	xidAuth = -4
	// codeAuthFailed is ZooKeeper's AUTHFAILED.
	codeAuthFailed = -115
	// maxAuthReply bounds an answer while logging in.
	maxAuthReply = 64 << 10
	// authWait bounds the exchange.
	authWait = 5 * time.Second
)

// login shows who the session is, on a connection on which nothing else has been
// sent yet but the session's own hello. Its error wraps ErrAuthFailed where the
// server refuses.
func (a Access) login(c io.ReadWriter) error {
	if a.Digest {
		body := appendText(binary.BigEndian.AppendUint32(nil, 0), "digest")
		_, err := ask(c, opAuth, appendText(body, a.User+":"+a.Password))
		return err
	}
	challenge, err := ask(c, opSASL, appendText(nil, ""))
	if err != nil {
		return err
	}
	answer, want, err := digestMD5(a.User, a.Password, challenge)
	if err != nil {
		return err
	}
	proof, err := ask(c, opSASL, appendText(nil, answer))
	if err == nil && proof != want {
		err = fmt.Errorf("%w: the server does not know the password of %s itself", ErrAuthFailed, a.User)
	}
	return err
}

// ask sends one request of a login and gives the token of its answer.
func ask(c io.ReadWriter, op int32, body []byte) (token string, err error) {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(0x100000000+xidAuth))
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	if _, err := c.Write(append(b, body...)); err != nil {
		return "", err
	}
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if size < 16 || size > maxAuthReply {
		return "", fmt.Errorf("an answer of %d bytes to a login", size)
	}
	reply := make([]byte, size)
	if _, err := io.ReadFull(c, reply); err != nil {
		return "", err
	}
	xid, code := int32(binary.BigEndian.Uint32(reply)), int32(binary.BigEndian.Uint32(reply[12:]))
	switch {
	case xid != xidAuth:
		return "", fmt.Errorf("an answer with xid %d to a login", xid)
	case code == codeAuthFailed:
		return "", fmt.Errorf("%w: unknown user, wrong password, or a scheme that it does not serve", ErrAuthFailed)
	case code != 0:
		return "", fmt.Errorf("%w: error %d", ErrAuthFailed, code)
	}
	if len(reply) < 20 {
		return "", nil
	}
	n := int(int32(binary.BigEndian.Uint32(reply[16:])))
	if n < 0 || n > len(reply)-20 {
		return "", nil
	}
	return string(reply[20 : 20+n]), nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}
