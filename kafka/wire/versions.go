package wire

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// maxAPIVersionsVersion is the newest version of ApiVersions the server
// answers; newer ones get the version 0 answer that tells so (KIP-511).
const maxAPIVersionsVersion = 4

// indexAPIs checks the table of APIs and gives it by key, and as ApiVersions
// lists it.
func indexAPIs(apis []API) (map[int16]API, []kmsg.ApiVersionsResponseApiKey, error) {
	byKey := make(map[int16]API, len(apis))
	versions := []kmsg.ApiVersionsResponseApiKey{apiKey(keyAPIVersions, 0, maxAPIVersionsVersion)}
	for _, a := range apis {
		known := kmsg.RequestForKey(a.Key)
		switch {
		case known == nil || a.Key == keyAPIVersions:
			return nil, nil, fmt.Errorf("API key %d cannot be served by a handler", a.Key)
		case a.Handle == nil:
			return nil, nil, fmt.Errorf("API key %d has no handler", a.Key)
		case a.MinVersion < 0 || a.MinVersion > a.MaxVersion || a.MaxVersion > known.MaxVersion():
			return nil, nil, fmt.Errorf("API key %d: versions %d to %d are not within 0 to %d", a.Key, a.MinVersion, a.MaxVersion, known.MaxVersion())
		}
		if _, dup := byKey[a.Key]; dup {
			return nil, nil, fmt.Errorf("API key %d is listed twice", a.Key)
		}
		byKey[a.Key] = a
		versions = append(versions, apiKey(a.Key, a.MinVersion, a.MaxVersion))
	}
	slices.SortFunc(versions, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	return byKey, versions, nil
}

// listSASL adds the two requests that the server answers itself where clients
// authenticate, in place of what handlers say of them.
func listSASL(versions []kmsg.ApiVersionsResponseApiKey) []kmsg.ApiVersionsResponseApiKey {
	versions = slices.DeleteFunc(versions, func(k kmsg.ApiVersionsResponseApiKey) bool {
		return k.ApiKey == keySaslHandshake || k.ApiKey == keySaslAuthenticate
	})
	versions = append(versions, apiKey(keySaslHandshake, 0, 1), apiKey(keySaslAuthenticate, 0, 2))
	slices.SortFunc(versions, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	return versions
}

func apiKey(key, minVersion, maxVersion int16) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = key, minVersion, maxVersion
	return k
}

// answerAPIVersions answers a version it does not have with version 0,
// UNSUPPORTED_VERSION and the range of ApiVersions itself, as Kafka does.
func (s *Server) answerAPIVersions(out []byte, h requestHeader, rest []byte) ([]byte, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if h.version < 0 || h.version > maxAPIVersionsVersion {
		resp.ErrorCode = int16(kafka.UnsupportedVersion)
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiKey(keyAPIVersions, 0, maxAPIVersionsVersion)}
		return appendResponse(out, resp, h.correlationID), nil
	}
	if _, err := decodeBody(h, rest); err != nil {
		return out, fmt.Errorf("ApiVersions version %d from client %q: %w", h.version, h.clientID, err)
	}
	resp.ApiKeys = s.versions
	resp.SetVersion(h.version) // what can be told depends on it
	if s.cfg.Features != nil {
		s.cfg.Features(resp)
	}
	return appendResponse(out, resp, h.correlationID), nil
}

// VersionRange is the versions of one API a peer serves, both inclusive.
type VersionRange struct{ Min, Max int16 }

// Versions is what a peer serves, by API key.
type Versions map[int16]VersionRange

// APIVersions asks the peer what it serves. An old peer that refuses the
// version asked is asked again with version 0.
func (c *Conn) APIVersions(ctx context.Context) (Versions, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kbench", "1"
	for _, version := range []int16{3, 0} {
		req.SetVersion(version)
		kresp, err := c.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		resp := kresp.(*kmsg.ApiVersionsResponse)
		code := kafka.ErrorCode(resp.ErrorCode)
		if code == kafka.UnsupportedVersion && version > 0 {
			continue
		}
		if code != kafka.None {
			return nil, fmt.Errorf("ApiVersions at %s: %w", c.addr, code)
		}
		v := make(Versions, len(resp.ApiKeys))
		for _, k := range resp.ApiKeys {
			v[k.ApiKey] = VersionRange{k.MinVersion, k.MaxVersion}
		}
		return v, nil
	}
	return nil, fmt.Errorf("ApiVersions at %s: %w", c.addr, kafka.UnsupportedVersion)
}

// Pick gives the newest version of an API that the peer serves and that is
// within the caller's own range, or an error that names both ranges.
func (v Versions) Pick(key, minVersion, maxVersion int16) (int16, error) {
	r, ok := v[key]
	if !ok {
		return 0, fmt.Errorf("the peer does not serve %s", kmsg.NameForKey(key))
	}
	best := min(r.Max, maxVersion)
	if best < max(r.Min, minVersion) {
		return 0, fmt.Errorf("%s: the peer serves versions %d to %d, %d to %d are wanted", kmsg.NameForKey(key), r.Min, r.Max, minVersion, maxVersion)
	}
	return best, nil
}
