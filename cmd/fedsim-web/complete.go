package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"fedsim/config"
	"fedsim/experiment/scenario"
)

// mostOffers is the largest number of completions.
const mostOffers = 60

// offer is a completion: the text that replaces the last characters before the cursor.
type offer struct {
	Text string `json:"text"`
	Doc  string `json:"doc"`
}

// offers are the completions at a place.
type offers struct {
	Word string  `json:"word"` // the characters that are replaced
	List []offer `json:"list"`
}

// all are the keys of any scenario.
var all = sync.OnceValue(func() []config.Field { return scenario.Keys(nil) })

// ofExperiment is the beginning of the keys of an experiment with its name.
var ofExperiment = regexp.MustCompile(`^experiment\.[^.]+\.`)

// keys returns the keys of the scenario that was read last, then those of any.
func (p *page) keys() []config.Field {
	var list []config.Field
	if p.valid != nil {
		list = scenario.Keys(p.valid)
		for i := range list {
			list[i].Key = ofExperiment.ReplaceAllString(list[i].Key, "experiment.")
		}
	}
	return append(list, all()...)
}

// complete returns what can follow the text before the cursor.
func (p *page) complete(before string) offers {
	above, line := "", before
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		above, line = before[:i], before[i+1:]
	}
	if word, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "["); ok {
		return p.tables(strings.TrimPrefix(word, "["))
	}
	table := tableOf(above)
	for { // inline tables
		open := strings.LastIndexByte(line, '{')
		if open < 0 || strings.Contains(line[open:], "}") {
			break
		}
		var outer []string
		for rest := line[:open]; ; {
			key, _, _ := strings.Cut(rest[max(strings.LastIndexAny(rest, "{,")+1, 0):], "=")
			outer = append([]string{strings.TrimSpace(key)}, outer...)
			i := strings.LastIndexByte(rest, '{')
			if i < 0 {
				break
			}
			rest = rest[:i]
		}
		table = strings.Join(append(nonempty(table), outer...), ".")
		line = line[open+1:]
		line = line[strings.LastIndexByte(line, ',')+1:]
	}
	if key, value, ok := strings.Cut(line, "="); ok {
		return p.values(strings.Join(append(nonempty(table), strings.TrimSpace(key)), "."), value)
	}
	return p.names(table, strings.TrimSpace(line))
}

func nonempty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// tableOf returns the table at the end of a text.
func tableOf(above string) string {
	for i := len(above); i > 0; {
		start := strings.LastIndexByte(above[:i], '\n') + 1
		line := strings.TrimSpace(above[start:i])
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(strings.TrimLeft(name, "["), "]")
			return strings.TrimSpace(name)
		}
		i = start - 1
	}
	return ""
}

// tables offers the tables that begin with a word.
func (p *page) tables(word string) (o offers) {
	o.Word = word
	for _, f := range p.keys() {
		for at, c := range f.Key {
			if name := f.Key[:at]; c == '.' && name != word {
				o.add(name, "table")
			}
		}
	}
	return o
}

// names offers the keys of a table that begin with a word.
func (p *page) names(table, word string) (o offers) {
	o.Word = word
	prefix := strings.Join(append(nonempty(table), ""), ".")
	if table == "" {
		prefix = ""
	}
	for _, f := range p.keys() {
		if name, ok := strings.CutPrefix(f.Key, prefix); ok && !strings.Contains(f.Key, "<") {
			o.add(name+" = ", f.Doc)
		}
	}
	// the keys of the table itself come first
	slices.SortStableFunc(o.List, func(a, b offer) int {
		return strings.Count(a.Text, ".") - strings.Count(b.Text, ".")
	})
	return o
}

// values offers the values of a key.
func (p *page) values(key, value string) (o offers) {
	o.Word = strings.TrimLeft(value[strings.LastIndexAny(value, "[,")+1:], " \t")
	for _, f := range p.keys() {
		if f.Key != key {
			continue
		}
		for _, name := range f.Choices {
			o.add(`"`+name+`"`, f.Doc)
		}
		switch {
		case strings.Contains(f.Type, "boolean"):
			o.add("true", f.Doc)
			o.add("false", f.Doc)
		case f.Choices == nil && f.Default != "" && !strings.Contains(f.Type, "string"):
			o.add(f.Default, "the default. "+f.Doc)
		}
		break
	}
	return o
}

// add offers a text that begins with the word, once.
func (o *offers) add(text, doc string) {
	if len(o.List) < mostOffers && len(text) > len(o.Word) && strings.HasPrefix(text, o.Word) &&
		!slices.ContainsFunc(o.List, func(have offer) bool { return have.Text == text }) {
		o.List = append(o.List, offer{text, doc})
	}
}
