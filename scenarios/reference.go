package scenarios

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/mtl/crossval"
	"fedsim/results"
)

// section is a table of a scenario file in the reference.
type section struct {
	heading string
	doc     string
	fields  []config.Field
}

// Reference lists every key of a scenario file: those of all tables, of the
// experiments, the options of every registered algorithm (with <label> in place of
// a method's label) and those of every registered model of devices and links.
func Reference() []config.Field {
	var fields []config.Field
	for _, s := range sections() {
		fields = append(fields, s.fields...)
	}
	return fields
}

// sections groups the reference by table.
func sections() []section {
	figure := results.DefaultFigure()
	var list []section
	top := section{heading: "At the top of the file"}
	for _, f := range config.Fields(&document{Settings: Defaults()}) {
		table, _, within := strings.Cut(f.Key, ".")
		switch {
		case strings.HasPrefix(table, "experiment") || table == "methods" || table == "table":
			// These have sections of their own, below.
		case within:
			last := &list[len(list)-1]
			last.fields = append(last.fields, f)
		case f.Type == "table" && table != "sweep":
			list = append(list, section{heading: "[" + table + "]", doc: f.Doc})
		default:
			top.fields = append(top.fields, f)
		}
	}
	list = append([]section{top}, list...)
	method := under("[methods.<label>]", "a method to run; its label consists of letters, digits, -, _ and .", "methods.<label>", methodFields())
	list = append(list, method)
	for _, name := range algorithms.Names() {
		factory, _ := algorithms.Lookup(name)
		list = append(list, fieldsUnder(fmt.Sprintf("[methods.<label>.options] of algorithm %q", name), factory.Summary, "methods.<label>.options", factory.Options()))
	}
	for _, kind := range kindsOfModels() {
		for _, m := range kind.models {
			list = append(list, fieldsUnder(fmt.Sprintf("[%s] of %s %q", kind.path(), kind.what, m.name), m.summary, kind.path(), m.options()))
		}
	}
	tuning := DefaultTuning()
	return append(list,
		fieldsUnder("[[experiment]]", "a grid of runs. Without [[experiment]], the base settings are one experiment with the name of the scenario", "experiment", &experimentTable{}),
		fieldsUnder("[[experiment.axis]]", "a named axis of the grid", "experiment.axis", &axisTable{}),
		fieldsUnder("[experiment.tuning]", "how tuned methods are compared", "experiment.tuning", &tuning),
		fieldsUnder("[experiment.figure]", "how the experiment is drawn; panel and series are names of axes, swept keys or \"method\"", "experiment.figure", &figure),
		fieldsUnder("[[table]]", "a table of prediction errors, cross-validated and solved centrally, for [problem] with other values of lambda", "table", &tableTable{Config: crossval.Defaults()}),
	)
}

// methodFields lists the keys of [methods.<label>], with the names they take.
func methodFields() []config.Field {
	fields := config.Fields(&Method{})
	for i := range fields {
		switch fields[i].Key {
		case "algorithm":
			fields[i].Choices = append([]string{""}, algorithms.Names()...)
		case "protocol":
			fields[i].Choices = append([]string{""}, protocols()...)
		}
	}
	return fields
}

// protocols returns the names of the round protocols.
func protocols() []string {
	c, standard := config.NewChecker(), federation.Defaults()
	standard.Validate(c)
	return c.Choices()["protocol"]
}

// fieldsUnder is the section of a struct's own keys, put under a prefix; tables
// within that have a section to themselves are left to it.
func fieldsUnder(heading, doc, prefix string, structPtr any) section {
	return under(heading, doc, prefix, config.Fields(structPtr))
}

func under(heading, doc, prefix string, fields []config.Field) section {
	s := section{heading: heading, doc: doc}
	for _, f := range fields {
		if prefix == "experiment" && (strings.HasPrefix(f.Key, "axis[].") || strings.HasPrefix(f.Key, "tuning.")) {
			continue
		}
		f.Key = prefix + "." + f.Key
		s.fields = append(s.fields, f)
	}
	return s
}

// introduction opens the reference.
const introduction = `# Scenario files

<!-- Generated from the schema by "go test ./scenarios -run Reference -update"; do not edit. -->

A scenario is a TOML file with tables of settings and experiments that vary them. Every key has a
default. Unknown keys are errors, and case matters. ` + "`fedsim run FILE --set key=value`" + ` overrides
any key; the value is TOML or a bare word.

` + "```toml" + `
[network]
profile = "lte"

[methods.mocha]
options.epochs = 2

[[experiment]]
name = "links"
set = { "run.rounds" = 200 }                            # over the settings above
sweep = { "network.profile" = ["3g", "lte", "wifi"] }   # a grid over keys

[[experiment.axis]]                                     # an axis whose points set several keys
name = "drops"
points = [
  { label = "none", set = { "faults.drop_probability" = 0 } },
  { label = "never", set = { "faults.never" = [0] } },
]

[experiment.tune.mocha]                                 # a grid of options, the best of which is run
"options.epochs" = [1, 2, 5]

[experiment.figure]
series = "drops"
panel = "network.profile"
` + "```" + `

An experiment runs all combinations of its axes in the order of the file, its swept keys, its
methods and the seeds. Each of the following overrides those before it: defaults, the tables of the
file, ` + "`set`" + `, the point of the grid, tuned options, ` + "`--set`" + `. An override of a swept or tuned key
replaces all its values. ` + "`--set experiment.<name>.<key>=value`" + ` sets a key of an experiment, and
` + "`--set 'experiment.<name>.axis.<axis>=[\"label\"]'`" + ` selects points of an axis.

A scenario may also have tables of the prediction errors of a global, a local and a multi-task model:

` + "```toml" + `
[[table]]
name = "errors"
shuffles = 3

[[table.set]]
label = "Human Activity"
data = { source = "uci-har", path = "har.zip" }     # here, or in the folder of FEDSIM_DATA
fallback = { preset = "human-activity" }            # generated, if the file is missing
paper = { mtl = [0.46, 0.11] }                      # published mean and standard error
` + "```" + `

` + "`--set table.<name>.<key>=value`" + ` sets a key of a table, and ` + "`--set 'table.<name>.set=[\"label\"]'`" + ` selects
its data sets.
`

// WriteReference writes the page of the documentation that describes every key.
func WriteReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(introduction)
	for _, s := range sections() {
		fmt.Fprintf(b, "\n## %s\n\n", strings.ReplaceAll(s.heading, "<label>", `\<label\>`))
		if s.doc != "" {
			fmt.Fprintf(b, "%s.\n\n", strings.ToUpper(s.doc[:1])+s.doc[1:])
		}
		if len(s.fields) == 0 {
			b.WriteString("It has no keys.\n")
			continue
		}
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			value := ""
			if f.Default != "" {
				value = "`" + f.Default + "`"
			}
			doc := f.Doc
			if f.Unit != "" {
				doc += " (" + f.Unit + ")"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Key, f.Type, cell(value), cell(doc))
		}
	}
	return b.Flush()
}

// cell writes text so that it stays within a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "\n", " ").Replace(text)
}
