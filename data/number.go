package data

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// maxMagnitude limits features and targets, so that squared norms and squared errors do
// not overflow.
const maxMagnitude = 1e100

// parseValue parses a feature or a real target. problem is empty if it is a finite
// number within maxMagnitude.
func parseValue(field string) (value float64, problem string) {
	value, err := input.Number(field)
	switch {
	case errors.Is(err, strconv.ErrRange) || err != nil && notFinite(field):
		return 0, fmt.Sprintf("%s is not a finite number", quote.Text(field))
	case err != nil:
		return 0, fmt.Sprintf("%s is not a number", quote.Text(field))
	case math.Abs(value) > maxMagnitude:
		return 0, fmt.Sprintf("%s is too large, values must be at most 1e100 in size", quote.Text(field))
	}
	return value, ""
}

// notFinite reports whether a field is a word for infinity or for no number.
func notFinite(field string) bool {
	value, _ := strconv.ParseFloat(field, 64) // it accepts such words
	return math.IsInf(value, 0) || math.IsNaN(value)
}

// uniqueNames appends "#2", "#3" and so on to duplicate names.
func uniqueNames(names []string) []string {
	taken := make(map[string]bool, len(names))
	next := make(map[string]int, len(names))
	unique := make([]string, len(names))
	for j, name := range names {
		candidate := name
		for taken[candidate] {
			next[name] = max(next[name], 1) + 1
			candidate = fmt.Sprintf("%s#%d", name, next[name])
		}
		taken[candidate] = true
		unique[j] = candidate
	}
	return unique
}

// refuseClient returns why the name of a client is invalid in a file that has no missing values, or "".
func refuseClient(name string) string {
	if name != "" && input.Missing(name) {
		return quote.Text(name) + " is a missing value"
	}
	return input.RefuseName(name)
}
