package seeded

// Hash is a running hash of all that happened in a run.
type Hash uint64

// NewHash is that of a run in which nothing has happened: FNV-1a's offset.
const NewHash Hash = 14695981039346656037

const fnvPrime = 1099511628211

// Add adds words. One multiplication a word and a fold of the high half are
// enough to tell two traces apart.
func (h *Hash) Add(xs ...uint64) {
	v := uint64(*h)
	for _, x := range xs {
		v = (v ^ x) * fnvPrime
		v ^= v >> 32
	}
	*h = Hash(v)
}
