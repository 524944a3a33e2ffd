package scenario

import (
	"bytes"
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/results"
)

// The marks of text and of keys with their defaults.
const (
	textMark = "# "
	keyMark  = "#"
)

// starterWidth is the most columns of a line of text.
const starterWidth = 96

const starterIntroduction = `A scenario of fedsim. "fedsim run" runs it, "fedsim check" checks it.
Every key is here with its meaning and its default. Remove the # before a key to
change it.`

// chosen are the keys that a starter sets, with their values as TOML. With them methods
// differ by seconds of virtual time, and a run takes a second. A reason is optional.
var chosen = map[string]struct{ value, reason string }{
	"problem.regularizer_options.warm_start": {"3", "The coupling of the tasks is learned before the run. The " +
		"initial coupling is a " +
		"multiple of the identity, which shares nothing between tasks."},
	"network.profile": {`"wifi"`, ""},
	"run.stop_at":     {"{ suboptimality = 5e-4 }", ""},
	"run.rounds":      {"200", ""},
}

var chosenMethods = []struct {
	algorithm string
	options   map[string]string
}{
	{"mocha", map[string]string{"epochs": "10"}},
	{"cocoa", map[string]string{"theta": "0.5"}},
}

// Starter returns a new scenario with an experiment of a name: two methods on a small
// generated set. It has every key of the settings, of the options and of the figure;
// keys with their defaults are comments. It panics unless config.IsName(name).
func Starter(name string) []byte {
	if !config.IsName(name) {
		panic(fmt.Sprintf("scenarios: %q is no name", name))
	}
	var b starter
	for line := range strings.SplitSeq(starterIntroduction, "\n") {
		fmt.Fprintf(&b, "%s%s\n", textMark, line)
	}
	for _, s := range sections() {
		if key, ok := strings.CutPrefix(s.heading, "["); ok && !strings.HasPrefix(key, "[") &&
			!strings.ContainsAny(key, "<.") && key != "overhead]" { // which calibrate writes
			b.settings(strings.TrimSuffix(key, "]"), s)
		}
	}
	for _, m := range chosenMethods {
		b.method(m.algorithm, m.options)
	}
	b.experiment(name)
	return b.Bytes()
}

// starter writes the text.
type starter struct{ bytes.Buffer }

// settings writes a table of settings. Keys of tables within it are dotted.
func (st *starter) settings(table string, s section) {
	st.heading("["+table+"]", s.doc)
	for _, f := range s.fields {
		if f.Type == "table" || f.Type == "value" {
			continue
		}
		set := chosen[f.Key]
		st.comment(set.reason)
		f.Key = strings.TrimPrefix(f.Key, table+".")
		st.key(f, set.value)
	}
}

// method writes the table of a method under the name of its algorithm.
func (st *starter) method(algorithm string, set map[string]string) {
	factory, ok := algorithms.Lookup(algorithm)
	if !ok {
		panic("scenarios: the starter has an algorithm that is not registered: " + algorithm)
	}
	st.heading("[methods."+algorithm+"]", factory.Summary)
	for _, f := range methodFields() {
		switch f.Key {
		case "options", "program", "program.command":
			continue
		case "algorithm", "label":
			f.Default = config.Literal(algorithm)
		}
		st.key(f, "")
	}
	for _, f := range config.Fields(factory.Options()) {
		value := set[f.Key]
		f.Key = "options." + f.Key
		st.key(f, value)
	}
}

// experiment writes the only experiment and its figure.
func (st *starter) experiment(name string) {
	st.heading("[[experiment]]", "a grid of runs; more may follow")
	fmt.Fprintf(st, "name = %q\n", name)
	st.comment("Lists of values by key. All combinations run, each with every method.")
	fmt.Fprintf(st, "%ssweep = { \"network.profile\" = [\"3g\", \"lte\", \"wifi\"] }\n", keyMark)
	st.comment("Points drawn from ranges, an axis beside the sweep. Each runs with every method; " +
		"\"fedsim run sample\" is an example.")
	fmt.Fprintf(st, "%ssample = { size = 16, ranges = { \"problem.lambda\" = { min = 1e-4, max = 1.0, "+
		"scale = \"log\" }, \"faults.drop_probability\" = { min = 0.0, max = 0.5 } } }\n", keyMark)
	figure := results.DefaultFigure()
	figure.File = name
	st.heading("[experiment.figure]",
		"how the experiment is drawn; panel and series are names of axes, swept keys or \"method\"")
	for _, f := range config.Fields(&figure) {
		value := ""
		if f.Key == "title" {
			value = `"time to sub-optimality"`
		}
		st.key(f, value)
	}
}

// heading begins a table.
func (st *starter) heading(text, doc string) {
	st.WriteString("\n")
	st.comment(doc)
	fmt.Fprintln(st, text)
}

// key writes the meaning of a key, and the key with a value or, as a comment, with its
// default.
func (st *starter) key(f config.Field, value string) {
	meaning := f.Doc
	if f.Unit != "" {
		meaning += " (" + f.Unit + ")"
	}
	if value == "" && f.Absent != "" {
		st.comment(f.Key + ": " + meaning)
		return
	}
	if value == "" {
		st.comment(meaning)
		fmt.Fprintf(st, "%s%s = %s\n", keyMark, f.Key, f.Default)
		return
	}
	st.comment(meaning + " (default " + f.Default + ")")
	fmt.Fprintf(st, "%s = %s\n", f.Key, value)
}

// comment writes text as a wrapped comment.
func (st *starter) comment(text string) {
	line := textMark[:1]
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > starterWidth {
			fmt.Fprintln(st, line)
			line = textMark[:1]
		}
		line += " " + word
	}
	if line != textMark[:1] {
		fmt.Fprintln(st, line)
	}
}
