package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest returns the name that was most likely meant by a misspelt word, or
// "" where none is near. Upper and lower case do not count.
func Suggest(word string, names []string) string {
	if len(word) < 2 {
		return ""
	}
	best, bestDistance := "", 1+max(1, len(word)/3)
	low := strings.ToLower(word)
	for _, name := range names {
		if d := editDistance(low, strings.ToLower(name), bestDistance); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// didYouMean is the cure for an unknown word: the nearest name, else all.
func didYouMean(word string, names []string) string {
	if s := Suggest(word, names); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	sorted := slices.Sorted(slices.Values(names))
	return "there are " + strings.Join(sorted, ", ")
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours; it may stop early with any number of at least limit.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
