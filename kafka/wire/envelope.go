package wire

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// A broker forwards a client's request to the active controller inside an
// Envelope (58, KIP-590): the request with its header but without its size, who
// sent it, and from where.

// WrapRequest puts r, a client's request, into an Envelope. correlationID is
// the forwarder's own and comes back in the answer.
func WrapRequest(r *Request, correlationID int32) *kmsg.EnvelopeRequest {
	env := kmsg.NewPtrEnvelopeRequest()
	env.RequestData = appendRequest(nil, r.Body, correlationID, r.ClientID)[4:]
	env.RequestPrincipal = appendPrincipal(nil, r.Principal, r.ByToken)
	env.ClientHostAddress = hostBytes(r.Remote)
	return env
}

// UnwrapRequest gives the request inside an Envelope, as if its client had sent
// it here; outer supplies the listener. Errors are Kafka's codes, to be put
// into the Envelope's answer: INVALID_REQUEST, UNSUPPORTED_VERSION or
// PRINCIPAL_DESERIALIZATION_FAILURE.
func UnwrapRequest(outer *Request, env *kmsg.EnvelopeRequest) (*Request, error) {
	principal, byToken, err := readPrincipal(env.RequestPrincipal)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w: %w", kafka.PrincipalDeserialization, err)
	}
	h, rest, err := parseHeader(env.RequestData)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w: %w", kafka.InvalidRequest, err)
	}
	known := kmsg.RequestForKey(h.key)
	if known == nil || h.version < 0 || h.version > known.MaxVersion() {
		return nil, fmt.Errorf("envelope: key %d version %d: %w", h.key, h.version, kafka.UnsupportedVersion)
	}
	body, err := decodeBody(h, rest)
	if err != nil {
		return nil, fmt.Errorf("envelope: key %d version %d: %w: %w", h.key, h.version, kafka.InvalidRequest, err)
	}
	return &Request{
		Key: h.key, Version: h.version, CorrelationID: h.correlationID, ClientID: h.clientID,
		Remote: &net.TCPAddr{IP: net.IP(env.ClientHostAddress)}, Listener: outer.Listener,
		Principal: principal, ByToken: byToken, Body: body,
	}, nil
}

// WrapResponse puts the answer to the inner request r into the Envelope's.
func WrapResponse(r *Request, resp kmsg.Response) *kmsg.EnvelopeResponse {
	resp.SetVersion(r.Version)
	env := kmsg.NewPtrEnvelopeResponse()
	env.ResponseData = appendResponse(nil, resp, r.CorrelationID)[4:]
	return env
}

// UnwrapResponse gives the answer to req that an Envelope brought. An error code
// of the Envelope itself is the error; NOT_CONTROLLER among them tells to find
// the controller again.
func UnwrapResponse(req kmsg.Request, env *kmsg.EnvelopeResponse) (kmsg.Response, error) {
	if code := kafka.ErrorCode(env.ErrorCode); code != kafka.None {
		return nil, fmt.Errorf("envelope: %w", code)
	}
	if len(env.ResponseData) < 4 {
		return nil, fmt.Errorf("envelope: answer of %d bytes has no correlation id", len(env.ResponseData))
	}
	resp, err := decodeResponse(req, env.ResponseData[4:])
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	return resp, nil
}

// appendPrincipal encodes DefaultPrincipalData version 0 behind its version.
func appendPrincipal(dst []byte, principal string, byToken bool) []byte {
	kind, name, ok := strings.Cut(principal, ":")
	if !ok {
		kind, name = "User", principal
	}
	dst = kbin.AppendInt16(dst, 0)
	dst = kbin.AppendCompactString(dst, kind)
	dst = kbin.AppendCompactString(dst, name)
	dst = kbin.AppendBool(dst, byToken)
	return append(dst, 0) // no tagged fields
}

func readPrincipal(b []byte) (principal string, byToken bool, err error) {
	if len(b) < 2 {
		return "", false, fmt.Errorf("principal of %d bytes", len(b))
	}
	if v := binary.BigEndian.Uint16(b); v != 0 {
		return "", false, fmt.Errorf("principal version %d, 0 is known", v)
	}
	r := kbin.Reader{Src: b[2:]}
	kind, name := r.CompactString(), r.CompactString()
	byToken = r.Bool()
	if err := r.Complete(); err != nil {
		return "", false, fmt.Errorf("principal: %w", err)
	}
	if _, err := skipTags(r.Src); err != nil {
		return "", false, fmt.Errorf("principal: %w", err)
	}
	return kind + ":" + name, byToken, nil
}

func hostBytes(a net.Addr) []byte {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return net.IPv4zero.To4()
	}
	if v4 := t.IP.To4(); v4 != nil {
		return v4
	}
	return t.IP.To16()
}
