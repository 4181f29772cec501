package trace

import (
	"fmt"
	"strconv"
	"strings"
)

// IDs writes node ids as an Event has them, "1,2,3".
func IDs[T ~int32](ids []T) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(texts, ",")
}

// ParseIDs reads what IDs wrote.
func ParseIDs[T ~int32](text string) (ids []T, err error) {
	if text == "" {
		return nil, nil
	}
	for id := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of node ids: %w", text, err)
		}
		ids = append(ids, T(n))
	}
	return ids, nil
}
