package config

import (
	"fmt"
	"slices"
	"strings"
)

// Located is a problem with its place: "x.toml:14:20: faults.drop_probability
// = 1.4: must be in [0, 1]".
type Located struct {
	Place   Place
	Text    string
	Renamed bool // a key has its former name there

	key string // that is unknown, or that has a value of another type
}

// Error returns place and text.
func (l Located) Error() string {
	if place := l.Place.String(); place != "" {
		return place + ": " + l.Text
	}
	return l.Text
}

// Errors lists all problems of a configuration. The command line prints them, one a
// line, and exits with status 2.
type Errors []Located

// Error returns one line per problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, l := range e {
		lines[i] = l.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns e as an error, nil if it is empty.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// mostProblems limits a list of problems: the time to collect them grows with their
// square.
const mostProblems = 100

// Retire says what became of keys of former versions that are among the problems: of a dotted key that is unknown,
// or whose value has another type, text returns the whole text of its problem, or "".
func (e Errors) Retire(text func(key string) string) {
	for i, l := range e {
		if l.key == "" {
			continue
		}
		if said := text(l.key); said != "" {
			e[i].Text, e[i].Renamed = said, true
		}
	}
}

// Add appends a problem unless the list holds it already. After a hundred problems it
// appends only that there are more.
func (e *Errors) Add(at Place, text string) { e.add(Located{Place: at, Text: text}) }

// AddKey is Add for a key that has no effect, which may be one of a former version (see Retire).
func (e *Errors) AddKey(at Place, key, text string) {
	e.add(Located{Place: at, Text: key + text, key: key})
}

func (e *Errors) add(l Located) {
	switch {
	case len(*e) > mostProblems || slices.Contains(*e, l):
	case len(*e) == mostProblems:
		*e = append(*e,
			Located{Place: Place{File: l.Place.File},
				Text: fmt.Sprintf("more than %d problems: correct those above first", mostProblems)})
	default:
		*e = append(*e, l)
	}
}

// AddProblem appends a problem of a key with the place of its value. If the place is an
// override of that key, it shows key and value already, and the text repeats neither.
func (e *Errors) AddProblem(at Place, p Problem) {
	if at.overrides(p.Key) && p.Value != nil {
		e.Add(at, p.Want)
		return
	}
	e.Add(at, p.Error())
}

// Merge appends the problems of another list.
func (e *Errors) Merge(others Errors) {
	for _, l := range others {
		e.add(l)
	}
}

// AddFound appends the problems of a checker, each with the place of its value in the
// tree that the struct was decoded from.
func (e *Errors) AddFound(root *Node, c *Checker) {
	for _, p := range c.Problems() {
		e.AddProblem(root.PlaceOf(p.Key), p)
	}
}
