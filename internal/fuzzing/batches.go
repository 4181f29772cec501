package fuzzing

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Where a record batch v2 has its length, its checksum, and what that is of.
const (
	lengthAt  = 8
	checksum  = 17
	checkedAt = 21
)

// Mended is a copy of raw in which each record batch that is whole has the
// checksum of its bytes. What is behind the first that is not stays as it is.
func Mended(raw []byte) []byte {
	raw = slices.Clone(raw)
	for b := raw; len(b) >= checkedAt; {
		size := int64(int32(binary.BigEndian.Uint32(b[lengthAt:]))) + lengthAt + 4
		if size < checkedAt || size > int64(len(b)) {
			break
		}
		sum := crc32.Checksum(b[checkedAt:size], crc32.MakeTable(crc32.Castagnoli))
		binary.BigEndian.PutUint32(b[checksum:], sum)
		b = b[size:]
	}
	return raw
}
