package scenario

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	optionsOf   = regexp.MustCompile(`\] of algorithm "([^"]+)"`)
	statedRange = regexp.MustCompile(`: must be in ([\[(])([^,]+), ([^\])]+)([\])])( seconds|, hours|, or "\w+")?$`)
	statedLeast = []struct {
		text     string
		low      float64
		lowIsOut bool
	}{
		{": must not be negative", 0, false}, {": must be positive", 0, true}, {": must be at least 1", 1, false},
		{`: must be positive, or "all"`, 0, true}, {`: must be positive, or "fill"`, 0, true},
	}
)

// statedLimits are the values that the text of an error allows.
type statedLimits struct {
	low, high   float64
	below, over bool // whether low and high themselves are refused
}

func (s statedLimits) has(v float64) bool {
	return (v > s.low || v == s.low && !s.below) && (v < s.high || v == s.high && !s.over)
}

// parseLimits returns what an error says of the value of a key; ok is false where it names no limits, or depends on
// other keys.
func parseLimits(message string) (s statedLimits, ok bool) {
	if found := statedRange.FindStringSubmatch(message); found != nil {
		low, errLow := strconv.ParseFloat(found[2], 64)
		high, errHigh := strconv.ParseFloat(found[3], 64)
		return statedLimits{low, high, found[1] == "(", found[4] == ")"}, errLow == nil && errHigh == nil
	}
	for _, text := range statedLeast {
		if strings.HasSuffix(message, text.text) {
			return statedLimits{low: text.low, below: text.lowIsOut, high: math.Inf(1)}, true
		}
	}
	return s, false
}

// Numbers of all keys obey the range that their error states: none inside it is refused with that text, none outside
// is accepted. No key accepts NaN, but where another key must be set first.
func TestKeysHaveTheRangesOfTheirErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("reads two thousand scenarios")
	}
	t.Parallel()
	seen := map[string]bool{} // key without the method, type, default and meaning
	ranges, keys := 0, 0
	for _, section := range sections() {
		source := "[methods.m]\nalgorithm = \"mocha\"\n"
		if of := optionsOf.FindStringSubmatch(section.heading); of != nil {
			source = "[methods.m]\nalgorithm = \"" + of[1] + "\"\n"
		}
		for _, field := range section.fields {
			key := strings.Replace(field.Key, "<label>", "m", 1)
			same := strings.Join([]string{key, field.Type, field.Default, field.Doc}, "\x00")
			kind, _, _ := strings.Cut(field.Type, ` or "`)
			if kind != "integer" && kind != "float" || strings.ContainsAny(key, "<[") ||
				strings.HasPrefix(key, "experiment.") || seen[same] {
				continue
			}
			seen[same] = true
			keys++
			if checkRange(t, key, source, kind == "integer") {
				ranges++
			}
		}
	}
	t.Logf("%d of %d keys with numbers state a range", ranges, keys)
	const without = 94 // of which others decide, or an error says more
	if keys-ranges > without {
		t.Errorf("%d keys with numbers state no range, must be at most %d: a check is gone", keys-ranges, without)
	}
}

// checkRange holds a key against the range of its error, and reports whether it has one.
func checkRange(t *testing.T, key, source string, whole bool) bool {
	first := []float64{-1, math.NaN(), 1e300}
	if whole {
		first = []float64{-1, 0, 1e18}
	}
	var limits statedLimits
	stated := ""
	for _, x := range first {
		said, _ := errorOf(key, source, x, whole)
		if s, ok := parseLimits(said); ok && stated == "" {
			limits, stated = s, said[strings.LastIndex(said, ": must"):]
		}
		if math.IsNaN(x) && said == "" {
			t.Errorf("%s = nan is accepted", key)
		}
	}
	if stated == "" {
		return false
	}
	for _, x := range limits.around(whole) {
		switch said, text := errorOf(key, source, x, whole); {
		case limits.has(x) && strings.HasSuffix(said, stated):
			t.Errorf("%s = %s is refused%s", key, text, stated)
		case !limits.has(x) && said == "":
			t.Errorf("%s = %s is accepted, but others are refused%s", key, text, stated)
		}
	}
	return true
}

// around returns the limits and the numbers next to them on both sides.
func (s statedLimits) around(whole bool) (values []float64) {
	for _, x := range []float64{s.low, s.high} {
		d := 1e-6 * max(1, math.Abs(x))
		if whole {
			d = 1
		}
		values = append(values, x-d, x, x+d)
	}
	return slices.DeleteFunc(values, func(x float64) bool { return math.IsInf(x, 0) || math.Abs(x) >= 1<<53 })
}

// errorOf returns the line of the errors of a scenario that is about a number of a key, empty without one, and the
// number as text.
func errorOf(key, source string, x float64, whole bool) (said, text string) {
	text = strconv.FormatFloat(x, 'g', -1, 64)
	if whole {
		text = strconv.FormatFloat(x, 'f', -1, 64)
	} else if !strings.ContainsAny(text, ".eNI") {
		text += ".0"
	}
	if math.IsNaN(x) {
		text = "nan"
	}
	argument := key + "=" + text
	_, err := Parse("x.toml", []byte(source), []string{argument})
	if err == nil {
		return "", text
	}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSuffix(line, "\n"); strings.Contains(line, argument+": ") {
			return line, text
		}
	}
	return "", text
}
