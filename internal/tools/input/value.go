package input

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"fedsim/internal/tools/quote"
)

// MaxMagnitude limits features and targets, so that squared norms and squared errors do
// not overflow.
const MaxMagnitude = 1e100

// Value parses a feature or a real target. problem is empty if it is a finite
// number within MaxMagnitude.
func Value(field string) (value float64, problem string) {
	value, err := Number(field)
	switch {
	case errors.Is(err, strconv.ErrRange) || err != nil && NotFinite(field):
		return 0, fmt.Sprintf("%s is not a finite number", quote.Text(field))
	case err != nil:
		return 0, fmt.Sprintf("%s is not a number", quote.Text(field))
	case math.Abs(value) > MaxMagnitude:
		return 0, fmt.Sprintf("%s is too large, values must be at most 1e100 in size", quote.Text(field))
	}
	return value, ""
}

// NotFinite reports whether a field is a word for infinity or for no number.
func NotFinite(field string) bool {
	value, _ := strconv.ParseFloat(field, 64) // it accepts such words
	return math.IsInf(value, 0) || math.IsNaN(value)
}

// UniqueNames appends "#2", "#3" and so on to duplicate names.
func UniqueNames(names []string) []string {
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

// RefuseClient returns why the name of a client is invalid in a file that has no missing values, or "".
func RefuseClient(name string) string {
	if name != "" && Missing(name) {
		return quote.Text(name) + " is a missing value"
	}
	return RefuseName(name)
}

// RefuseNumber returns why a number cannot be a feature or a target, or "".
func RefuseNumber(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64) + " is not a finite number"
	case math.Abs(v) > MaxMagnitude:
		return strconv.FormatFloat(v, 'g', -1, 64) + " is too large, values must be at most 1e100 in size"
	}
	return ""
}
