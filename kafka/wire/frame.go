package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Keys whose headers are special.
const (
	keyControlledShutdown = 7
	keyAPIVersions        = 18
)

// frameChunk bounds what is allocated for a frame before its bytes arrive, so
// that a size alone costs a peer nothing.
const frameChunk = 256 << 10

// readFrame reads one size-prefixed frame into a buffer of its own. It gives
// io.EOF only where the peer left between frames.
func readFrame(r io.Reader, maxBytes int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("truncated frame: the peer left inside the size")
		}
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if head[0] == 0x16 && head[1] == 0x03 && size > maxBytes {
		return nil, errors.New("the peer speaks TLS, which is not spoken here")
	}
	if size < 0 || size > maxBytes {
		return nil, fmt.Errorf("frame of %d bytes: must be 0 to %d", size, maxBytes)
	}
	buf := make([]byte, 0, min(size, frameChunk))
	for len(buf) < size {
		// Grow to at most twice what the peer has sent.
		next := min(size, max(2*len(buf), frameChunk))
		if cap(buf) < next {
			buf = append(make([]byte, 0, next), buf...)
		}
		n, err := io.ReadFull(r, buf[len(buf):next])
		buf = buf[:len(buf)+n]
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, fmt.Errorf("truncated frame: %d of %d bytes came", len(buf), size)
			}
			return nil, err
		}
	}
	return buf, nil
}

// requestHeader is what precedes every request's body.
type requestHeader struct {
	key, version  int16
	correlationID int32
	clientID      string
}

// parseHeader reads the header up to the client id and returns what follows:
// header tags where the version is flexible, then the body. ControlledShutdown
// version 0 has no client id.
func parseHeader(b []byte) (requestHeader, []byte, error) {
	if len(b) < 8 {
		return requestHeader{}, nil, fmt.Errorf("request of %d bytes: shorter than its header", len(b))
	}
	h := requestHeader{
		key:           int16(binary.BigEndian.Uint16(b)),
		version:       int16(binary.BigEndian.Uint16(b[2:])),
		correlationID: int32(binary.BigEndian.Uint32(b[4:])),
	}
	b = b[8:]
	if h.key == keyControlledShutdown && h.version == 0 {
		return h, b, nil
	}
	if len(b) < 2 {
		return h, nil, errors.New("request header: no client id")
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	if n < -1 || n > len(b) {
		return h, nil, fmt.Errorf("request header: client id of %d bytes with %d left", n, len(b))
	}
	if n > 0 {
		h.clientID = string(b[:n])
		b = b[n:]
	}
	return h, b, nil
}

// skipTags steps over a tagged section, as flexible headers carry.
func skipTags(b []byte) ([]byte, error) {
	count, b, err := uvarint(b)
	if err != nil {
		return nil, err
	}
	for range count {
		if _, b, err = uvarint(b); err != nil {
			return nil, err
		}
		var size uint64
		if size, b, err = uvarint(b); err != nil {
			return nil, err
		}
		if size > uint64(len(b)) {
			return nil, fmt.Errorf("header tag of %d bytes with %d left", size, len(b))
		}
		b = b[size:]
	}
	return b, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > 1<<31 {
		return 0, nil, errors.New("header tags: broken varint")
	}
	return v, b[n:], nil
}

// decodeBody reads the body of a request whose header is parsed.
func decodeBody(h requestHeader, b []byte) (body kmsg.Request, err error) {
	body = kmsg.RequestForKey(h.key)
	if body == nil {
		return nil, fmt.Errorf("unknown request key %d", h.key)
	}
	body.SetVersion(h.version)
	if body.IsFlexible() {
		if b, err = skipTags(b); err != nil {
			return nil, err
		}
	}
	if swapsStopReplica(h.key, h.version) {
		if b, err = stopReplicaIn(b); err != nil {
			return nil, err
		}
	}
	defer func() {
		if r := recover(); r != nil {
			body, err = nil, fmt.Errorf("decode panicked: %v", r)
		}
	}()
	if body.ReadFrom(b) != nil { // kmsg has one error, which speaks of a response
		return nil, fmt.Errorf("body of %d bytes does not decode", len(b))
	}
	return body, nil
}

// appendRequest appends the frame of req at the version it is set to. kmsg's
// RequestFormatter leaves out the length and body of ControlledShutdown
// version 0.
func appendRequest(dst []byte, req kmsg.Request, correlationID int32, clientID string) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if req.Key() != keyControlledShutdown || req.GetVersion() != 0 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
		dst = append(dst, clientID...)
	}
	if req.IsFlexible() {
		dst = append(dst, 0)
	}
	dst = appendBody(dst, req)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendResponse appends the frame of resp, whose version is set.
func appendResponse(dst []byte, resp kmsg.Response, correlationID int32) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if resp.IsFlexible() && resp.Key() != keyAPIVersions {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
