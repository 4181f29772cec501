package metadata

import (
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"

	"kbench/kafka"
)

// DigestOption leaves a part out of a Digest.
type DigestOption uint8

// The parts that can be left out: those that the nodes of one cluster hold
// differently without being wrong. In ZooKeeper mode, for example, brokers
// are not told of configurations or features.
const (
	WithoutBrokers     DigestOption = 1 << iota
	WithoutControllers              // registrations of controllers
	WithoutConfigs
	WithoutFeatures
	WithoutProducerIDs
	WithoutAccess // ACLs, credentials, tokens and quotas
)

// Digest gives a number that is equal for equal images, whatever way they came
// about and whatever their offset and epoch, in every process and version of
// kbench that has the same Partition fields. Its cost is that of the topics
// and brokers, not of the partitions, whose part is kept up to date by Delta.
func (i *Image) Digest(without ...DigestOption) uint64 {
	var skip DigestOption
	for _, w := range without {
		skip |= w
	}
	h := mixer(1)
	h.u64(i.partitionSum)
	h.u64(uint64(i.partitions))
	for t := range i.Topics() {
		h.str(t.name)
		h.uuid(t.id)
		h.u64(uint64(t.count))
	}
	if skip&WithoutBrokers == 0 {
		h.u64(2)
		for b := range i.Brokers() {
			h.broker(b)
		}
	}
	if skip&WithoutControllers == 0 {
		h.u64(3)
		for c := range i.Controllers() {
			h.u64(uint64(c.ID))
			h.uuid(c.Incarnation)
			h.endpoints(c.Endpoints, c.SecurityProtocols)
			h.features(c.Features)
		}
	}
	if skip&WithoutConfigs == 0 {
		h.u64(4)
		for r, values := range i.Configs() {
			h.u64(uint64(r.Type))
			h.str(r.Name)
			h.u64(uint64(len(values)))
			for _, k := range slices.Sorted(maps.Keys(values)) {
				h.str(k)
				h.str(values[k])
			}
		}
	}
	if skip&WithoutFeatures == 0 {
		h.u64(5)
		for name, level := range i.Features() {
			h.str(name)
			h.u64(uint64(level))
		}
	}
	if skip&WithoutProducerIDs == 0 {
		h.u64(uint64(i.nextProducerID))
	}
	if skip&WithoutAccess == 0 {
		h.access(i.access)
	}
	return uint64(h)
}

// seed begins the hash of each of the topic's partitions.
func (t *Topic) seed() uint64 {
	h := mixer(7)
	h.str(t.name)
	h.uuid(t.id)
	return uint64(h)
}

// hash gives the part of one partition in its image's digest.
func (p *Partition) hash(seed uint64, number int32) uint64 {
	h := mixer(seed)
	h.u64(uint64(uint32(number))<<32 | uint64(uint32(p.Leader)))
	h.u64(uint64(uint32(p.LeaderEpoch))<<32 | uint64(uint32(p.PartitionEpoch)))
	h.ids(p.Replicas)
	h.ids(p.ISR)
	h.ids(p.AddingReplicas)
	h.ids(p.RemovingReplicas)
	h.u64(uint64(p.LeaderRecoveryState)<<32 | uint64(len(p.Directories)))
	for _, d := range p.Directories {
		h.uuid(d)
	}
	if p.Eligible != nil {
		h.ids(p.Eligible.ELR)
		h.ids(p.Eligible.LastKnown)
	}
	return uint64(h)
}

// mixer is a small fast hash with a fixed seed; it guards against mistakes,
// not against an adversary.
type mixer uint64

func (h *mixer) u64(v uint64) {
	hi, lo := bits.Mul64(uint64(*h)^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	*h = mixer(hi ^ lo ^ bits.RotateLeft64(v, 31))
}

func (h *mixer) str(s string) {
	h.u64(uint64(len(s)))
	for len(s) >= 8 {
		h.u64(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	var tail uint64
	for i := range len(s) {
		tail |= uint64(s[i]) << (8 * i)
	}
	h.u64(tail)
}

func (h *mixer) uuid(u kafka.UUID) {
	h.u64(binary.LittleEndian.Uint64(u[:8]))
	h.u64(binary.LittleEndian.Uint64(u[8:]))
}

func (h *mixer) ids(ids []kafka.BrokerID) {
	h.u64(uint64(len(ids)))
	for _, b := range ids {
		h.u64(uint64(b))
	}
}

func (h *mixer) endpoints(es []kafka.Endpoint, protocols []int16) {
	h.u64(uint64(len(es)))
	for i, e := range es {
		h.str(e.Listener)
		h.str(e.Host)
		h.u64(uint64(e.Port)<<16 | uint64(uint16(at(protocols, i))))
	}
}

func (h *mixer) features(f map[string]VersionRange) {
	h.u64(uint64(len(f)))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		h.str(name)
		h.u64(uint64(uint16(f[name].Min))<<16 | uint64(uint16(f[name].Max)))
	}
}

func (h *mixer) broker(b *Broker) {
	h.u64(uint64(b.ID))
	h.u64(uint64(b.Epoch))
	h.uuid(b.Incarnation)
	h.str(b.Rack)
	var flags uint64
	if b.Fenced {
		flags |= 1
	}
	if b.InControlledShutdown {
		flags |= 2
	}
	h.u64(flags)
	h.endpoints(b.Endpoints, b.SecurityProtocols)
	h.features(b.Features)
	h.u64(uint64(len(b.LogDirs)))
	for _, d := range b.LogDirs {
		h.uuid(d)
	}
	if b.CordonedLogDirs != nil {
		h.u64(uint64(len(b.CordonedLogDirs)))
		for _, d := range b.CordonedLogDirs {
			h.uuid(d)
		}
	}
}

// access leaves an image without any as it was before there was this part.
func (h *mixer) access(a *Access) {
	for acl := range a.ACLs() {
		h.u64(8)
		h.uuid(acl.ID)
		h.u64(uint64(uint8(acl.ResourceType))<<24 | uint64(uint8(acl.PatternType))<<16 |
			uint64(uint8(acl.Operation))<<8 | uint64(uint8(acl.Permission)))
		h.str(acl.ResourceName)
		h.str(acl.Principal)
		h.str(acl.Host)
	}
	for c := range a.Scrams() {
		h.u64(9)
		h.str(c.User)
		h.u64(uint64(uint32(c.Iterations))<<8 | uint64(uint8(c.Mechanism)))
		h.str(string(c.Salt))
		h.str(string(c.StoredKey))
		h.str(string(c.ServerKey))
	}
	for t := range a.Tokens() {
		h.u64(10)
		for _, s := range append([]string{t.ID, t.Owner, t.Requester}, t.Renewers...) {
			h.str(s)
		}
		h.u64(uint64(t.IssuedMs))
		h.u64(uint64(t.MaxMs))
		h.u64(uint64(t.ExpiresMs))
	}
	for e, values := range a.Quotas() {
		h.u64(11)
		for _, p := range e {
			h.str(p.Type)
			h.str(p.Name)
			if p.Default {
				h.u64(1)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(values)) {
			h.str(k)
			h.u64(math.Float64bits(values[k]))
		}
	}
}

// at gives s[i], or zero beyond the end: an absent list means all zero.
func at(s []int16, i int) int16 {
	if i < len(s) {
		return s[i]
	}
	return 0
}
