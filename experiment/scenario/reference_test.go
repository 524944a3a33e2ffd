package scenario

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite docs/scenarios.md")

func TestReferenceIsUpToDate(t *testing.T) {
	const page = "../../docs/scenarios.md"
	var b bytes.Buffer
	expect.NoError(t, writeReference(&b))
	if *update {
		filetest.Write(t, page, b.Bytes())
	}
	want := filetest.Read(t, page)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is out of date: run go test ./experiment/scenario -run Reference -update (-file +schema):\n%s",
			page, diff)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range referenceFields() {
		expect.That(t, f.Doc != "", "%s has no documentation: a comment of its field", f.Key)
		seen[f.Key] = true
	}
	for _, key := range []string{"name", "sweep", "data.source", "data.synthetic.clients", "run.seeds",
		"methods.<label>.algorithm", "methods.<label>.options.epochs", "experiment.methods",
		"experiment.axis.points[].label", "experiment.tuning.target", "experiment.figure.panel"} {
		expect.That(t, seen[key], "the reference lacks %s", key)
	}
}

// referenceFields lists every key of docs/scenarios.md.
func referenceFields() []config.Field {
	var fields []config.Field
	for _, s := range sections() {
		fields = append(fields, s.fields...)
	}
	return fields
}

// introduction opens the reference.
const introduction = `# Scenario files

<!-- Generated from the schema by "go test ./experiment/scenario -run Reference -update"; do not edit. -->

For users who look up a key: the form of a scenario, then every key with its type, default and meaning. A
scenario is a TOML file with tables of settings and experiments that vary them. A key has a default, or says what it
means that it is absent. Unknown keys are errors, and case matters. ` + "`fedsim run FILE --set key=value`" + ` overrides
any key; the value is TOML or a bare word. ` + "`--set key=`" + ` leaves a key out.

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

[experiment.sample]                                     # points of ranges, an axis as well
size = 16
ranges."problem.lambda" = { min = 1e-4, max = 1.0, scale = "log" }
ranges."faults.drop_probability" = { min = 0.0, max = 0.5 }

[experiment.tune.mocha]                                 # a grid of options, the best of which is run
"options.epochs" = [1, 2, 5]

[experiment.figure]
series = "drops"
panel = "network.profile"
` + "```" + `

An experiment runs all combinations of its axes in the order of the file, the points of its sample,
its swept keys, its methods and the seeds. Each of the following overrides those before it: defaults, the tables of the
file, ` + "`set`" + `, the point of the grid, tuned options, ` + "`--set`" + `. An override of a swept or tuned key
replaces all its values. ` + "`--set experiment.<name>.<key>=value`" + ` sets a key of an experiment, and
` + "`--set 'experiment.<name>.axis.<axis>=[\"label\"]'`" + ` selects points of an axis.
An override of a sampled key removes it from the sample: the other keys keep their values, and
` + "`--set experiment.<name>.sample.points=[3]`" + ` selects points.

An experiment with a table writes its errors at the end, by method and point, to ` + "`tables/NAME.md`" + ` and ` +
	"`NAME.csv`" + `, beside
published ones (scenario ` + "`table1`" + `):

` + "```toml" + `
[experiment.table]
title = "average prediction error"

[experiment.table.published]
"Human Activity" = { mtl = [0.46, 0.11] }     # mean and standard error of a method at a point
` + "```" + `
`

// writeReference writes docs/scenarios.md. An option that several methods take with the same meaning is listed once.
func writeReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(introduction)
	shared, started := sharedOptions(), false
	for _, s := range sections() {
		method := strings.Contains(s.heading, "] of algorithm ")
		if method && !started {
			started = true
			b.WriteString("\n## Options of several methods\n\nThe methods below name those that they take.\n\n")
			writeFields(b, shared)
		}
		fmt.Fprintf(b, "\n## %s\n\n", strings.ReplaceAll(s.heading, "<label>", `\<label\>`))
		if s.doc != "" {
			fmt.Fprintf(b, "%s.\n\n", strings.ToUpper(s.doc[:1])+s.doc[1:])
		}
		if len(s.fields) == 0 {
			b.WriteString(map[bool]string{true: "Its keys are those of the learner.\n",
				false: "It has no keys.\n"}[strings.Contains(s.heading, `"external"`)])
			continue
		}
		own := s.fields
		if method {
			var names string
			if names, own = divideOptions(s.fields, shared); names != "" {
				fmt.Fprintf(b, "[Shared options](#options-of-several-methods): %s.\n", names)
			}
			if names != "" && len(own) > 0 {
				b.WriteByte('\n')
			}
		}
		writeFields(b, own)
	}
	return b.Flush()
}

// writeFields writes a line for each key: its type, default and meaning.
func writeFields(b *bufio.Writer, fields []config.Field) {
	for _, f := range fields {
		kind := f.Type
		if f.Default != "" {
			kind += ", `" + f.Default + "`"
		}
		doc := f.Doc
		if f.Unit != "" {
			doc += " (" + f.Unit + ")"
		}
		fmt.Fprintf(b, "- `%s` (%s): %s\n", f.Key, kind, withoutTags(doc))
	}
}

// sharedOptions returns the options that at least three methods take with the same type, default and
// meaning. Of several meanings of a key it has the most frequent one.
func sharedOptions() []config.Field {
	var all, shared []config.Field
	for _, s := range sections() {
		if strings.Contains(s.heading, "] of algorithm ") {
			all = append(all, s.fields...)
		}
	}
	count := func(f config.Field) int {
		n := 0
		for _, other := range all {
			if sameOption(f, other) {
				n++
			}
		}
		return n
	}
	for _, f := range all {
		i := slices.IndexFunc(shared, func(other config.Field) bool { return other.Key == f.Key })
		switch {
		case i < 0 && count(f) >= 3:
			shared = append(shared, f)
		case i >= 0 && count(f) > count(shared[i]):
			shared[i] = f
		}
	}
	return shared
}

// divideOptions returns the names of the options of a method that are shared, and its other options. Of
// four names or more that follow each other in shared it gives the first and the last.
func divideOptions(fields, shared []config.Field) (names string, own []config.Field) {
	var places []int
	for _, f := range fields {
		if i := slices.IndexFunc(shared, func(other config.Field) bool { return sameOption(f, other) }); i >= 0 {
			places = append(places, i)
		} else {
			own = append(own, f)
		}
	}
	name := func(i int) string { return "`" + shared[i].Key[strings.LastIndexByte(shared[i].Key, '.')+1:] + "`" }
	var list []string
	for i := 0; i < len(places); i++ {
		last := i
		for last+1 < len(places) && places[last+1] == places[last]+1 {
			last++
		}
		if last-i < 3 {
			list = append(list, name(places[i]))
			continue
		}
		list = append(list, name(places[i])+" to "+name(places[last]))
		i = last
	}
	return strings.Join(list, ", "), own
}

// sameOption reports whether two options have the same description.
func sameOption(a, b config.Field) bool {
	return a.Key == b.Key && a.Type == b.Type && a.Default == b.Default && a.Doc == b.Doc && a.Unit == b.Unit
}

// withoutTags writes text so that Markdown takes none of it for HTML.
func withoutTags(text string) string {
	return strings.NewReplacer("<", `\<`, "\n", " ").Replace(text)
}
