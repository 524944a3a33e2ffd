package config

import (
	"fmt"
	"slices"
	"strings"
)

// Located is something wrong at a place: "x.toml:14:20: faults.drop_probability
// = 1.4: must be in [0, 1]".
type Located struct {
	Place   Place
	Text    string
	Renamed bool // the place has the former name of a key
}

// Error renders place and text.
func (l Located) Error() string {
	if place := l.Place.String(); place != "" {
		return place + ": " + l.Text
	}
	return l.Text
}

// Errors is everything wrong with a configuration, one line each. The command
// line prints it and exits with status 2.
type Errors []Located

// Error returns one line per problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, l := range e {
		lines[i] = l.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns e as an error, nil when nothing is wrong.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// mostProblems is how many problems a list tells of: whoever has that many mends those
// first, and the time to collect more grows with their square.
const mostProblems = 100

// Add appends a problem unless the list holds the same one already. Beyond a hundred
// it only says that there are more.
func (e *Errors) Add(at Place, text string) { e.add(Located{Place: at, Text: text}) }

func (e *Errors) add(l Located) {
	switch {
	case len(*e) > mostProblems || slices.Contains(*e, l):
	case len(*e) == mostProblems:
		*e = append(*e, Located{Place: Place{File: l.Place.File}, Text: fmt.Sprintf("more than %d problems: correct those above first", mostProblems)})
	default:
		*e = append(*e, l)
	}
}

// AddProblem appends what is wrong with a key whose value stands at a place. A
// place that is an override of this very key has said key and value already.
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

// AddFound appends what a checker found in the struct that was decoded from
// root, each with the place its value came from.
func (e *Errors) AddFound(root *Node, c *Checker) {
	for _, p := range c.Problems() {
		e.AddProblem(root.PlaceOf(p.Key), p)
	}
}
