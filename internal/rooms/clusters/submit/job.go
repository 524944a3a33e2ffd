package submit

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/internal/tools/quote"
)

// Job has the values that a template can use.
type Job struct {
	ID        string   // of the plan: 16 hexadecimal digits
	Name      string   // of the scenario: lower-case letters, digits and hyphens
	Version   string   // of fedsim
	Number    int      // of the submission, from 1
	Tasks     int      // the number of tasks
	Minutes   int      // the time limit of a task
	MemoryMiB int      // of a task
	Cores     int      // of a task
	Binary    string   // the absolute path of fedsim
	Dir       string   // the absolute path of the plan
	Here      string   // the working directory, where data files may be
	Data      string   // the absolute path in FEDSIM_DATA, or ""
	File      string   // the absolute path of the submitted file
	Command   []string // the worker of a task and its arguments

	AllowExternal bool // the worker may start the programs of the scenario

	options [][]string // engine options that no one has taken: --name=value, or --name and value
	known   []string   // the options that Option was called for
	passed  bool       // Options was called
}

// SetOptions sets the engine options of a command line. The error is an *[OptionError].
func (j *Job) SetOptions(words []string) error {
	for _, w := range words {
		last := len(j.options) - 1
		switch {
		case strings.ContainsAny(w, "\r\n"):
			return &OptionError{fmt.Sprintf("engine option %q: has a line break", w)}
		case len(w) > 1 && w[0] == '-':
			j.options = append(j.options, []string{w})
		case last < 0 || len(j.options[last]) > 1 || strings.Contains(j.options[last][0], "="):
			return &OptionError{fmt.Sprintf("engine option %q: must be --name, --name=value or --name value", w)}
		default:
			j.options[last] = append(j.options[last], w)
		}
	}
	return nil
}

// Option takes the engine option --name and returns its value, or the default without it.
func (j *Job) Option(name, value string) string {
	name = "--" + name
	if !slices.Contains(j.known, name) {
		j.known = append(j.known, name)
	}
	j.options = slices.DeleteFunc(j.options, func(words []string) bool {
		option, given, ok := strings.Cut(words[0], "=")
		if option != name {
			return false
		}
		if value = given; !ok {
			value = strings.Join(words[1:], "")
		}
		return true
	})
	return value
}

// Require returns the value of the engine option --name, which must be given.
func (j *Job) Require(name string) (string, error) {
	value := j.Option(name, "")
	if value == "" {
		return "",
			&OptionError{fmt.Sprintf("the engine needs the option --%s: add it after --, as in -- --%s=...", name,
				name)}
	}
	return value, nil
}

// Options returns the engine options that Option has not taken, each as a line, quoted for
// a shell. A template that calls it takes any option.
func (j *Job) Options() []string {
	j.passed = true
	var lines []string
	for _, words := range j.options {
		lines = append(lines, quote.Shell(words...))
	}
	return lines
}
