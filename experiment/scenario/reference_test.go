package scenario

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite docs/scenarios.md and docs/reference/keys")

func TestReferenceIsUpToDate(t *testing.T) {
	const docs = "../../docs"
	pages := references()
	for _, p := range pages {
		path := filepath.Join(docs, p.path)
		if *update {
			expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			filetest.Write(t, path, []byte(p.text))
		}
		if diff := cmp.Diff(string(filetest.Read(t, path)), p.text); diff != "" {
			t.Errorf("%s is out of date: run go test ./experiment/scenario -run Reference -update (-file +schema):\n%s",
				path, diff)
		}
	}
	found := expect.Value(filepath.Glob(filepath.Join(docs, keyPages, "*.md")))(t)
	expect.That(t, len(found) == len(pages)-1, "%s has %d pages: must have %d", keyPages, len(found), len(pages)-1)
}

func TestEveryKeyIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	all := ""
	for _, p := range references() {
		all += p.text
	}
	for _, f := range referenceFields() {
		expect.That(t, f.Doc != "", "%s has no documentation: a comment of its field", f.Key)
		seen[f.Key] = true
		expect.That(t, strings.Contains(all, "- `"+f.Key+"` ("), "no page has %s", f.Key)
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

// generated is the note of each page.
const generated = "<!-- Generated from the schema by " +
	`"go test ./experiment/scenario -run Reference -update"; do not edit. -->`

// introduction opens the reference.
const introduction = `# Scenario files

` + generated + `

For users who look up a key: the form of a scenario, and the [pages of its tables](#tables), with the type, default and
meaning of every key. A scenario is a TOML file with tables of settings and experiments that vary them. A key has a default, or says what it
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

// keyPages is the folder of the pages of tables, in docs.
const keyPages = "reference/keys"

// linkOfDocs is a link to a page of docs.
var linkOfDocs = regexp.MustCompile(`\]\(([a-z-]+\.md)`)

// page is a page of the reference.
type page struct{ path, text string }

// references returns the pages of the reference: docs/scenarios.md, then one for each table, which has its options
// as well. Those of methods are on a page of their own, and an option that several methods take with the same
// meaning is listed once.
func references() []page {
	index := &strings.Builder{}
	index.WriteString(introduction)
	var names []string
	texts, rows := map[string]*strings.Builder{}, map[string]string{}
	shared := sharedOptions()
	for _, s := range sections() {
		table := strings.Trim(s.heading, "[]")
		table, _, _ = strings.Cut(strings.ReplaceAll(table, "]", "."), ".")
		method := strings.Contains(s.heading, "] of algorithm ")
		if method {
			table = "method-options"
		}
		if s.heading == "At the top of the file" {
			index.WriteString("\n## At the top of the file\n\n")
			writeFields(index, s.fields)
			continue
		}
		b, begun := texts[table]
		heading := strings.ReplaceAll(s.heading, "<label>", "LABEL")
		if !begun {
			b = &strings.Builder{}
			texts[table], names = b, append(names, table)
			title := heading
			rows[table] = fmt.Sprintf("[`%s`](%s/%s.md) | %s", heading, keyPages, table, withoutTags(s.doc))
			if method {
				title = "Options of methods"
				rows[table] = fmt.Sprintf("[`[methods.LABEL.options]`](%s/%s.md) | options of each method", keyPages,
					table)
			}
			fmt.Fprintf(b, "# %s\n\n%s\n%s", title, generated, usedBy(table))
			if method {
				b.WriteString("\nAn option stands in `[methods.LABEL]`, as `options.epochs = 2`. LABEL is a name of " +
					"yours, or that of the method.\n\n## Options of several methods\n\nThe methods below name those " +
					"that they take.\n\n")
				writeFields(b, shared)
			}
		}
		switch _, of, _ := strings.Cut(heading, " of "); {
		case method:
			fmt.Fprintf(b, "\n## %s\n", strings.Trim(strings.TrimPrefix(of, "algorithm "), `"`))
		case begun:
			fmt.Fprintf(b, "\n## %s\n", heading)
		}
		writeSection(b, s, method, shared)
	}
	index.WriteString("\n## Tables\n\nEach has a page.\n\n| table | content |\n|---|---|\n")
	pages := []page{{path: "scenarios.md"}}
	for _, name := range names {
		fmt.Fprintf(index, "| %s |\n", rows[name])
		text := linkOfDocs.ReplaceAllString(texts[name].String(), "](../../$1")
		pages = append(pages, page{keyPages + "/" + name + ".md", text})
	}
	pages[0].text = index.String()
	return pages
}

// usedBy links the examples that set keys of a table, if they are few.
func usedBy(table string) string {
	set := regexp.MustCompile(`(?m)^(?:\[{1,2}` + table + `[.\]]|"?` + table + `\.)`)
	found, _ := filepath.Glob("../../scenarios/*.toml")
	var links []string
	for _, path := range found {
		text, err := os.ReadFile(path)
		if name := strings.TrimSuffix(filepath.Base(path), ".toml"); err == nil && set.Match(text) {
			links = append(links, fmt.Sprintf("[%s](../examples.md#%s)", name, name))
		}
	}
	if n := len(links); n == 0 || n > 8 { // many: any of the examples shows it
		return ""
	}
	return "\nUsed by " + strings.Join(links, ", ") + ".\n"
}

// writeSection writes what a section is and its keys, those of a table within it under its name.
func writeSection(b *strings.Builder, s section, method bool, shared []config.Field) {
	b.WriteByte('\n')
	if s.doc != "" {
		fmt.Fprintf(b, "%s.\n\n", withoutTags(strings.ToUpper(s.doc[:1])+s.doc[1:]))
	}
	if len(s.fields) == 0 {
		b.WriteString(map[bool]string{true: "Its keys are those of the learner.\n",
			false: "It has no keys.\n"}[strings.Contains(s.heading, `"external"`)])
		return
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

// writeFields writes a line for each key: its type, default and meaning.
func writeFields(b *strings.Builder, fields []config.Field) {
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
