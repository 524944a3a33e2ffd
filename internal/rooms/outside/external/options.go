package external

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/mtl"
)

// Name is the name of the method in scenarios.
const Name = "external"

// Options are the settings of a method with a learner in another process. Command, TimeoutS
// and Processes are keys of the method's table; its options are those of the learner.
type Options struct {
	Command   []string       `toml:"-"` // the program and its arguments
	TimeoutS  float64        `toml:"-"` // most seconds of real time for an answer; 0: no limit
	Processes int            `toml:"-"` // processes for all runs; 0: one for each run under way
	Learner   map[string]any `toml:"-"` // passed on
}

var _ config.Custom = (*Options)(nil)

// TypeTOML returns the type of the options in a scenario.
func (o *Options) TypeTOML() string { return "table" }

// DecodeTOML takes any table of values that JSON has.
func (o *Options) DecodeTOML(n *config.Node, key string) config.Errors {
	var problems config.Errors
	if !n.IsTable() {
		problems.AddProblem(n.Place, config.Problem{Key: key, Want: "must be a table: the options of the learner"})
		return problems
	}
	checkValue(n, key, &problems)
	values := n.Value().(map[string]any)
	o.Learner = maps.Clone(o.Learner)
	if o.Learner == nil {
		o.Learner = map[string]any{}
	}
	maps.Copy(o.Learner, values)
	return problems
}

// checkValue reports numbers that JSON does not have.
func checkValue(n *config.Node, key string, problems *config.Errors) {
	switch {
	case n.IsTable():
		for _, name := range n.Keys() {
			checkValue(n.Child(name), key+"."+config.Path{name}.String(), problems)
		}
	case n.IsList():
		for i, item := range n.Items() {
			checkValue(item, fmt.Sprintf("%s[%d]", key, i), problems)
		}
	default:
		if x, ok := n.Value().(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			problems.AddProblem(n.Place, config.Problem{Key: key, Value: x, Want: "must be a finite number"})
		}
	}
}

// MarshalTOML returns the options of the learner on one line.
func (o *Options) MarshalTOML() ([]byte, error) {
	if len(o.Learner) == 0 {
		return []byte("{}"), nil
	}
	return []byte(config.Literal(o.Learner)), nil
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(*config.Checker) {}

// ValidateProgram reports everything wrong with the keys of the method's table.
func (o *Options) ValidateProgram(c *config.Checker) {
	c.Require(len(o.Command) > 0 && o.Command[0] != "", "command", o.Command,
		"must be the program of the learner and its arguments, as in [\"python3\", \"learner.py\"]")
	c.Require(o.TimeoutS >= 0 && o.TimeoutS <= 1e6, "timeout_s", o.TimeoutS, "must be in (0, 1e6] seconds")
	c.Require(o.Processes >= 0 && o.Processes <= 1000, "processes", o.Processes,
		"must be in [1, 1000]")
}

// timeout is the longest time for an answer; 0: no limit.
func (o *Options) timeout() time.Duration { return time.Duration(o.TimeoutS * float64(time.Second)) }

// program names the learner until it has said its name: its command without folders.
func (o *Options) program() string {
	words := slices.Clone(o.Command)
	for i, word := range words {
		if filepath.IsAbs(word) {
			words[i] = filepath.Base(word)
		}
	}
	return strings.Join(words, " ")
}

// key identifies the processes that a method can use: options of the learner go to each run.
func (o *Options) key() string { return fmt.Sprintf("%q %g %d", o.Command, o.TimeoutS, o.Processes) }

// plain returns a value of a scenario for JSON. A float stays one (1.0), and a date is text.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any: // nil, too
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = plain(v[key])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return jsontext.Value(strconv.FormatFloat(v, 'f', 1, 64))
		}
		return v
	case time.Time:
		return config.Literal(v)
	default:
		return v
	}
}

func init() {
	algorithms.Register(algorithms.Factory{
		Name: Name,
		Summary: "a learner of your own in another process; such as a Python program: command starts it, " +
			"and its options are passed on",
		Reference: "docs/protocols.md#learner",
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description { // a learner says the rest when it starts
			const notKnown = algorithms.NotKnown
			return algorithms.Description{
				Model: algorithms.UnknownModel, Evaluated: algorithms.ByMethod, Own: true,
				Messages:     algorithms.Messages{Bytes: true, Coded: true},
				Asynchronous: notKnown, Weights: notKnown, State: notKnown, Losses: notKnown, Batched: true,
			}
		},
		Options: func() algorithms.Options { return &Options{Learner: map[string]any{}} },
		New: func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
			return nil, errors.New("its processes belong to an experiment: use rooms.Programs.Learner")
		},
	})
}
