package scenario

import (
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/results"
)

// section is a table of a scenario file in the reference.
type section struct {
	heading string
	doc     string
	fields  []config.Field
}

// sections groups the reference by table.
func sections() []section {
	figure := results.DefaultFigure()
	var list []section
	top := section{heading: "At the top of the file"}
	for _, f := range config.Fields(&document{Settings: defaultSettings()}) {
		table, _, within := strings.Cut(f.Key, ".")
		switch {
		case strings.HasPrefix(table, "experiment") || table == "methods":
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
	method := under("[methods.<label>]", "a method to run; its label consists of letters, digits, dots, - and _",
		"methods.<label>", methodFields())
	list = append(list, method)
	for _, name := range algorithms.Names() {
		factory, _ := algorithms.Lookup(name)
		list = append(list,
			fieldsUnder(fmt.Sprintf("[methods.<label>.options] of algorithm %q", name), factory.Summary,
				"methods.<label>.options", factory.Options()))
	}
	for _, kind := range kindsOfModels() {
		for _, m := range kind.models {
			list = append(list,
				fieldsUnder(fmt.Sprintf("[%s] of %s %q", kind.path(), kind.what, m.name), m.summary, kind.path(),
					m.options()))
		}
	}
	tuning, sample := defaultTuning(), defaultSample()
	return append(list,
		fieldsUnder("[[experiment]]", "a grid of runs. Without [[experiment]], the base settings are one experiment "+
			"with the name of the scenario", "experiment", &experimentTable{}),
		fieldsUnder("[[experiment.axis]]", "a named axis of the grid", "experiment.axis", &axisTable{}),
		fieldsUnder("[experiment.sample]", "points drawn from ranges of keys. They are an axis named sample, "+
			"whose labels are 1, 2 and so on. Results have the number of the point and the value of each key in "+
			"columns of their own", "experiment.sample", &sample),
		fieldsUnder("[experiment.tuning]", "how tuned methods are compared", "experiment.tuning", &tuning),
		fieldsUnder("[experiment.figure]",
			"how the experiment is drawn; panel and series are names of axes, swept keys or \"method\"",
			"experiment.figure", &figure),
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
			fields[i].Choices = protocols()
		}
	}
	return fields
}

// protocols returns the names of the round protocols, and that of none.
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
