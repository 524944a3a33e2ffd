package scenario

import (
	_ "embed"
	"encoding/csv"
	"regexp"
	"strings"
	"sync"

	"fedsim/config"
)

// RetiredKey is a key of a former version.
type RetiredKey struct {
	Old  string // dotted; options of methods begin with methods.<label>.options
	New  string // the key in its place; empty if there is none
	Note string // how its value is written now, or what to do without it; may be empty
}

//go:embed retired.csv
var retiredCSV string

// RetiredKeys returns the keys of former versions, in the order of the file retired.csv.
var RetiredKeys = sync.OnceValue(func() []RetiredKey {
	rows, err := csv.NewReader(strings.NewReader(retiredCSV)).ReadAll()
	if err != nil {
		panic("scenario: " + err.Error())
	}
	keys := make([]RetiredKey, len(rows)-1)
	for i, row := range rows[1:] {
		keys[i] = RetiredKey{Old: row[0], New: row[1], Note: row[2]}
	}
	return keys
})

var (
	labels  = regexp.MustCompile(`^methods\.[^.]+\.`)
	indexed = regexp.MustCompile(`\[\d+\]`)
)

// retire says what became of keys of former versions that are among the problems of a scenario.
func retire(problems config.Errors) {
	problems.Retire(func(key string) string {
		general := indexed.ReplaceAllString(labels.ReplaceAllString(key, "methods.<label>."), "[]")
		for _, k := range RetiredKeys() {
			if k.Old != general {
				continue
			}
			note := k.Note
			if k.New == "" {
				return key + ": is gone: " + note
			}
			if note != "" {
				note = ": " + note
			}
			return key + ": is now " + strings.Replace(k.New, "methods.<label>.", labels.FindString(key), 1) + note
		}
		return ""
	})
}
