package admin

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// The types of the parts of a quota entity (KIP-546, KIP-612).
const (
	QuotaUser     = "user"
	QuotaClientID = "client-id"
	QuotaIP       = "ip"
)

// quotaKind is the type of a quota's value and whom the quota is for.
type quotaKind struct {
	most float64 // 0 for a value that may be fractional
	ip   bool
}

// quotaKinds are the quotas that there are.
var quotaKinds = map[string]quotaKind{
	"producer_byte_rate":       {most: math.MaxInt64},
	"consumer_byte_rate":       {most: math.MaxInt64},
	"request_percentage":       {},
	"controller_mutation_rate": {},
	"connection_creation_rate": {most: math.MaxInt32, ip: true},
}

// QuotaKeys lists the quotas of users and clients, or those of addresses, by
// name.
func QuotaKeys(ip bool) []string {
	var keys []string
	for key, kind := range quotaKinds {
		if kind.ip == ip {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// QuotaEntity checks whom quotas are asked for: a user, a client id, both, or
// an address. A part without a name is the default of its type. The errors are
// INVALID_REQUEST.
func QuotaEntity(parts []kmsg.AlterClientQuotasRequestEntryEntity) (metadata.QuotaEntity, error) {
	var out []metadata.QuotaPart
	seen := map[string]bool{}
	for _, x := range parts {
		p := metadata.QuotaPart{Type: x.Type, Default: x.Name == nil}
		if x.Name != nil {
			p.Name = *x.Name
		}
		switch {
		case x.Type != QuotaUser && x.Type != QuotaClientID && x.Type != QuotaIP:
			return nil, Faultf(kafka.InvalidRequest, "Unhandled client quota entity type: %.64s", x.Type)
		case seen[x.Type]:
			return nil, Faultf(kafka.InvalidRequest, "Invalid client quota entity, duplicate entity entry %s", x.Type)
		case !p.Default && p.Name == "":
			return nil, Faultf(kafka.InvalidRequest, "Empty %s not supported", x.Type)
		case x.Type == QuotaIP && !p.Default && !isAddress(p.Name):
			return nil, Faultf(kafka.InvalidRequest, "%.64s is not a valid IP", p.Name)
		}
		seen[x.Type] = true
		out = append(out, p)
	}
	switch {
	case len(out) == 0:
		return nil, Faultf(kafka.InvalidRequest, "Invalid empty client quota entity")
	case seen[QuotaIP] && len(out) > 1:
		return nil, Faultf(kafka.InvalidRequest, "Invalid quota entity combination, IP entity should not be combined with User or ClientId")
	}
	return metadata.NewQuotaEntity(out), nil
}

// QuotaKey checks that an entity can have a quota of a name. The error is
// INVALID_REQUEST.
func QuotaKey(e metadata.QuotaEntity, key string) error {
	kind, known := quotaKinds[key]
	if !known || kind.ip != (e[0].Type == QuotaIP) {
		return Faultf(kafka.InvalidRequest, "Invalid configuration key %.64s", key)
	}
	return nil
}

// QuotaValue checks the value of a quota, whose key is one of an entity's: more
// than 0, and a whole number where Kafka's type of it is one. The error is
// INVALID_REQUEST.
func QuotaValue(key string, value float64) error {
	kind := quotaKinds[key]
	switch {
	case math.IsNaN(value) || value <= 0:
		return Faultf(kafka.InvalidRequest, "Quota %s must be greater than 0", key)
	case kind.most == 0:
		return nil
	case value > kind.most:
		return Faultf(kafka.InvalidRequest, "Proposed value for %s is too large.", key)
	case math.Mod(value, 1) > 1e-6:
		return Faultf(kafka.InvalidRequest, "%s cannot be a fractional value.", key)
	}
	return nil
}

// isAddress reports whether s is written like an IPv4 or IPv6 address. Kafka
// also takes names that it can resolve, which depends on where it runs.
func isAddress(s string) bool {
	if strings.Count(s, ":") >= 2 {
		return strings.Trim(s, "0123456789abcdefABCDEF:.") == ""
	}
	octets := strings.Split(s, ".")
	for _, o := range octets {
		if _, err := strconv.ParseUint(o, 10, 8); err != nil {
			return false
		}
	}
	return len(octets) == 4
}
