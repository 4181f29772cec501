package zk

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
)

// VersionRange is the range of a feature's levels that a broker supports.
type VersionRange struct {
	Min int16 `json:"min_version"`
	Max int16 `json:"max_version"`
}

// BrokerRegistration is the data of a broker's znode.
type BrokerRegistration struct {
	ID          kafka.BrokerID
	Version     int              // JSON version: 5 from inter-broker protocol 2.7 on, 4 from 0.10, else 2; 0 means 5
	Endpoints   []kafka.Endpoint // in the order of the listeners
	Protocols   map[string]string
	Rack        string // "" for none
	JMXPort     int    // 0 is written as -1, Kafka's none
	TimestampMs int64
	Features    map[string]VersionRange
	Epoch       kafka.BrokerEpoch // the czxid: set on reading, ignored on writing
}

// Protocol gives the security protocol of a listener, PLAINTEXT where the
// registration names none.
func (r *BrokerRegistration) Protocol(listener string) string {
	if p, ok := r.Protocols[listener]; ok {
		return p
	}
	return "PLAINTEXT"
}

// EncodeBroker gives the bytes Kafka 3.9 writes for the version asked for.
func EncodeBroker(r BrokerRegistration) []byte {
	v := r.Version
	if v == 0 {
		v = 5
	}
	var b []byte
	b = append(b, '{')
	if v >= 5 {
		b = append(b, `"features":`...)
		b = appendFeatures(b, r.Features)
		b = append(b, ',')
	}
	if v >= 4 {
		b = append(b, `"listener_security_protocol_map":`...)
		b = appendProtocols(b, &r)
		b = append(b, ',')
	}
	b = append(b, `"endpoints":[`...)
	for i, e := range r.Endpoints {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, e.Listener+"://"+e.Addr())
	}
	b = append(b, ']')
	if v >= 3 && r.Rack != "" {
		b = appendString(append(b, `,"rack":`...), r.Rack)
	}
	host, port := plaintext(&r)
	jmx := r.JMXPort
	if jmx == 0 {
		jmx = -1
	}
	b = fmt.Appendf(b, `,"jmx_port":%d,"port":%d,"host":`, jmx, port)
	if port < 0 {
		b = append(b, "null"...)
	} else {
		b = appendString(b, host)
	}
	return fmt.Appendf(b, `,"version":%d,"timestamp":"%d"}`, v, r.TimestampMs)
}

// plaintext gives the first PLAINTEXT endpoint, for readers older than the
// endpoints member; port -1 where there is none.
func plaintext(r *BrokerRegistration) (string, int) {
	for _, e := range r.Endpoints {
		if r.Protocol(e.Listener) == "PLAINTEXT" {
			return e.Host, int(e.Port)
		}
	}
	return "", -1
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic("zk: " + err.Error())
	}
	return append(b, q...)
}

func appendProtocols(b []byte, r *BrokerRegistration) []byte {
	b = append(b, '{')
	for i, e := range r.Endpoints {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, e.Listener), ':')
		b = appendString(b, r.Protocol(e.Listener))
	}
	return append(b, '}')
}

func appendFeatures(b []byte, f map[string]VersionRange) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(f)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = fmt.Appendf(b, `{"min_version":%d,"max_version":%d}`, f[name].Min, f[name].Max)
	}
	return append(b, '}')
}

// DecodeBroker reads a broker's znode of version 2 to 5. Epoch is left for
// the caller, who has the znode's czxid.
func DecodeBroker(id kafka.BrokerID, data []byte) (BrokerRegistration, error) {
	var j struct {
		Version   int                     `json:"version"`
		Endpoints []string                `json:"endpoints"`
		Protocols map[string]string       `json:"listener_security_protocol_map"`
		Rack      string                  `json:"rack"`
		JMXPort   int                     `json:"jmx_port"`
		Timestamp string                  `json:"timestamp"`
		Features  map[string]VersionRange `json:"features"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return BrokerRegistration{}, fmt.Errorf("registration of broker %d %.80q: %w", id, data, err)
	}
	if j.Version < 2 || j.Version > 5 {
		return BrokerRegistration{}, fmt.Errorf("registration of broker %d has version %d, known are 2 to 5", id, j.Version)
	}
	r := BrokerRegistration{
		ID: id, Version: j.Version, Protocols: j.Protocols, Rack: j.Rack, JMXPort: j.JMXPort,
		Features: j.Features, Epoch: kafka.NoBrokerEpoch,
	}
	r.TimestampMs, _ = strconv.ParseInt(j.Timestamp, 10, 64) // information only
	for _, s := range j.Endpoints {
		e, err := parseEndpoint(s)
		if err != nil {
			return r, fmt.Errorf("registration of broker %d: %w", id, err)
		}
		r.Endpoints = append(r.Endpoints, e)
	}
	return r, nil
}

func parseEndpoint(s string) (kafka.Endpoint, error) {
	name, addr, ok := strings.Cut(s, "://")
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.ParseUint(port, 10, 16)
	if !ok || err != nil || perr != nil {
		return kafka.Endpoint{}, fmt.Errorf("endpoint %q is not LISTENER://host:port", s)
	}
	return kafka.Endpoint{Listener: name, Host: host, Port: uint16(n)}, nil
}
