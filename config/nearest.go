package config

import "strings"

// Nearest returns the candidate nearest to a name, for the "did you mean" of errors, or
// "" if none is near. It ignores case. The distance is Damerau-Levenshtein's: each
// insertion, deletion, substitution and swap of neighbors counts one. At most a third of
// the longer name's runes, rounded up, may differ. The earliest of equally near
// candidates wins.
func Nearest(name string, candidates []string) string {
	if len(name) > maxName {
		return "" // no name is that long, and the time to compare grows with it
	}
	best, bestDistance := "", -1
	for _, candidate := range candidates {
		a, b := foldRunes(name), foldRunes(candidate)
		limit := (max(len(a), len(b)) + 2) / 3
		d := distance(a, b)
		if d > limit || len(a) == 0 || d >= max(len(a), len(b)) {
			continue
		}
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func foldRunes(s string) []rune { return []rune(strings.ToLower(s)) }

// distance is the optimal string alignment distance: Damerau-Levenshtein without two
// edits of one substring. It holds three rows of the table, since a swap looks back two.
func distance(a, b []rune) int {
	before := make([]int, len(b)+1)
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, previous, current = previous, current, before
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			current[j] = d
		}
	}
	return current[len(b)]
}
