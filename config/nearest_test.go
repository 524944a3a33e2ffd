package config

import (
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

func TestNearest(t *testing.T) {
	keys := []string{"drop_probability", "never", "where", "profile"}
	for _, test := range []struct{ name, want string }{
		{"drop_probabilty", "drop_probability"},  // a letter left out
		{"drop_probabiliyt", "drop_probability"}, // two letters swapped
		{"nevre", "never"},
		{"Profile", "profile"}, // case does not count
		{"bandwidth", ""},
		{"", ""},
	} {
		got := Nearest(test.name, keys)
		expect.That(t, got == test.want, "Nearest(%q) = %q, want %q", test.name, got, test.want)
	}
	if got := Nearest("ab", []string{"ac", "bb"}); got != "ac" {
		t.Errorf("a tie went to %q, want the earlier candidate", got)
	}
	if got := Nearest("x", []string{"y"}); got != "" {
		t.Errorf("Nearest suggests %q for a name that shares nothing with it", got)
	}
}

// The slow twin is the textbook recursion of the optimal string alignment
// distance.
func TestDistanceAgainstRecursion(t *testing.T) {
	var slow func(a, b []rune) int
	slow = func(a, b []rune) int {
		if len(a) == 0 || len(b) == 0 {
			return len(a) + len(b)
		}
		cost := 1
		if a[0] == b[0] {
			cost = 0
		}
		d := min(slow(a[1:], b)+1, slow(a, b[1:])+1, slow(a[1:], b[1:])+cost)
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, slow(a[2:], b[2:])+1)
		}
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.SampledFrom([]rune("abc")), 0, 6)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		got, want := distance(a, b), slow(a, b)
		expect.Must(t, got == want, "distance(%q, %q) = %d, want %d", string(a), string(b), got, want)
	})
}
