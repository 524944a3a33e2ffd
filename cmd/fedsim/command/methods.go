package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/columns"
	"fedsim/mtl"
)

func newMethods() *cobra.Command {
	return &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List methods, selections, protocols and codecs, and their options",
		Example: `  fedsim methods
  fedsim methods mocha
  fedsim methods oort`,
		Args: takes(0, 1, "at most one name"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) (
			[]cobra.Completion, cobra.ShellCompDirective) {
			var names []string
			for _, entry := range methodEntries() {
				names = append(names, entry.name)
			}
			return first(oneOf(names))(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			width, entries := textWidth(), methodEntries()
			if len(args) == 0 {
				return printText(cmd.OutOrStdout(), entriesText(entries, width))
			}
			var names []string
			for _, entry := range entries {
				if entry.name == args[0] {
					return printText(cmd.OutOrStdout(), entry.describe(width))
				}
				names = append(names, entry.name)
			}
			return usagef("%s", config.UnknownName("method", args[0], args[0], names))
		},
	}
}

// methodEntry is a name that scenarios use, with its kind and description.
type methodEntry struct {
	name, kind, line string
	describe         func(width int) string
}

// methodEntries lists methods, protocols, selections, codecs, losses and models.
func methodEntries() (all []methodEntry) {
	add := func(name, kind, line string, describe func(width int) string) {
		line, _, _ = strings.Cut(line, ";")
		all = append(all, methodEntry{name, kind, line, describe})
	}
	for _, name := range algorithms.Names() {
		f, _ := algorithms.Lookup(name)
		add(name, "method", f.Summary, func(width int) string { return describeAlgorithm(&f, width) })
	}
	for _, name := range federation.ProtocolNames() {
		f, _ := federation.LookupProtocol(name)
		add(name, "protocol", f.Summary, func(width int) string {
			return describeChoice(name+", a protocol (federation.protocol): "+f.Summary, f.Reference,
				"federation.protocol_options", f.Options, width)
		})
	}
	for _, name := range federation.SelectorNames() {
		f, _ := federation.LookupSelector(name)
		add(name, "selection", f.Summary, func(width int) string {
			return describeChoice(name+", a selection (federation.selection): "+f.Summary, f.Reference,
				"federation.selection_options", f.Options, width)
		})
	}
	for _, r := range rooms.All() {
		for i, name := range r.Names {
			add(name, "codec", r.Lines[i], func(width int) string {
				return columns.Wrap(name+", "+r.Named+": "+r.Lines[i], width, 0) + "\n" +
					describeOptions(r.Keys[0].Table, r.Keys[0].New(), width)
			})
		}
	}
	for _, name := range mtl.LossNames() {
		f, _ := mtl.LookupLoss(name)
		add(name, "loss", strings.ReplaceAll(f.Formula, ";", ","), func(width int) string {
			text := columns.Wrap(name+", a loss (problem.loss) of a score z and a label y; g is "+
				"loss_options.smoothing: "+f.Formula, width, 0) + "\n"
			if f.New != nil {
				text += columns.Wrap("The conjugate loss*(-a) is "+f.Conjugate+", finite where: "+f.Domain+".", width,
					2) + "\n"
			}
			return text + columns.Wrap(f.Reference, width, 2) + "\n"
		})
	}
	add(mtl.ModelLinear, "model", "C d values: d features, C classes (1 of two)", func(width int) string {
		return describeModel("linear: D = C d values for d features and C classes (1 for two classes or real "+
			"targets), and 4 C d FLOPs for the gradient of a row; a step of a dual method takes C (4 d + 8).",
			"d = 784, C = 10", mtl.Shape{Features: 784, Outputs: 10}, width)
	})
	add(mtl.ModelMLP, "model", "hidden layers, for methods on the primal", func(width int) string {
		return describeModel("mlp, hidden = [h]: D = h (d + 1) + C (h + 1) values, and 4 d h + 2 h + 6 h C + 2 C "+
			"FLOPs for the gradient of a row; primal methods only.",
			"d = 784, C = 10, h = 128", mtl.Shape{Features: 784, Outputs: 10, Hidden: mtl.Widths{128}}, width)
	})
	return all
}

// entriesText is a table with a line for each entry.
func entriesText(entries []methodEntry, width int) string {
	longest := 0
	for _, e := range entries {
		longest = max(longest, len(e.name))
	}
	var b strings.Builder
	row := func(name, kind, line string) {
		head := fmt.Sprintf("%-*s  %-9s  ", longest, name, kind)
		text := columns.Wrap(line, max(20, width-len(head)), 0)
		b.WriteString(head + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(head))) + "\n")
	}
	row("name", "kind", "what it is")
	for _, e := range entries {
		row(e.name, e.kind, e.line)
	}
	b.WriteString("\nfedsim methods NAME: source, abilities and options\n")
	return b.String()
}

// describeModel has the sizes of a model, with the digits of MNIST as the example.
func describeModel(about, sizes string, shape mtl.Shape, width int) string {
	n := shape.Values()
	about += fmt.Sprintf(" Example with %s: %d values, %.0f FLOPs, %d kB.", sizes, n, shape.RowFLOPs(), 8*n/1000)
	return columns.Wrap(about, width, 0) + "\n" + columns.Wrap("Methods say how many of the D values their "+
		"messages have. Memory of a client, 8 bytes a value: D while at work (methods that average models) and D to "+
		"2 D more once a client of a method with state has taken part, D (mb-sgd), and for dual methods D to 2 D and "+
		"2 C for each row, beside W and V of the server. docs/time.md and docs/methods.md have the rest.", width,
		2) + "\n"
}

// describeChoice has a summary, the source if there is one, and the options of a table; nil: there are none.
func describeChoice(summary, source, table string, options func() config.Options, width int) string {
	text := columns.Wrap(summary, width, 0) + "\n"
	if source != "" {
		text += columns.Wrap(source, width, 2) + "\n"
	}
	if options != nil {
		text += describeOptions(table, options(), width)
	}
	return text
}

// describeOptions has the type, default and meaning of each option of a table.
func describeOptions(table string, options any, width int) string {
	return optionsText(table, config.Fields(options), width)
}

func optionsText(table string, fields []config.Field, width int) string {
	text := ""
	for i, o := range fields {
		if i+1 < len(fields) && strings.HasPrefix(fields[i+1].Key, o.Key+".") { // a table: its keys follow
			continue
		}
		text += "  " + table + "." + o.Key
		if o.Default != "" {
			text += " = " + o.Default
		}
		text += fmt.Sprintf(" (%s)\n%s\n", o.Type, columns.Wrap(o.Doc, width, 6))
	}
	return text
}

// sharedBy is the number of methods that have an option with the same meaning, from which on it is a shared one.
const sharedBy = 5

// sharedOptions counts the methods that have an option, by its key and meaning.
func sharedOptions() map[[2]string]int {
	count := map[[2]string]int{}
	for _, name := range algorithms.Names() {
		f, _ := algorithms.Lookup(name)
		for _, o := range config.Fields(f.Options()) {
			count[[2]string{o.Key, o.Doc}]++
		}
	}
	return count
}

// describeAbilities lists the abilities and needs of a method with its default options.
func describeAbilities(d algorithms.Description) string {
	abilities := []string{map[algorithms.ModelKind]string{
		algorithms.TaskModels: "a model of each task", algorithms.OneModel: "one model",
		algorithms.Versions: "one model in versions", algorithms.PersonalModels: "one model, and one of each client",
		algorithms.DeviceModels: "a model of each client",
		algorithms.UnknownModel: "the learner says its abilities when it starts",
	}[d.Model]}
	m, down := &d.Messages, "D"
	if d.Work.Vectors > 1 {
		down = fmt.Sprintf("%d D", d.Work.Vectors)
	}
	up := down
	if d.Work.Up == 1 {
		up = "D"
	}
	if d.Work.Extra > 0 {
		up += fmt.Sprintf(" + %d", d.Work.Extra)
	}
	for _, x := range []struct {
		holds bool
		text  string
	}{
		{m.None, "no messages"},
		{m.Differ, "messages that differ from client to client"},
		{!m.None && !m.Differ && !m.Bytes, down + " values down, " + up + " up"},
		{d.MinimizesP, "minimizes P"},
		{d.HubRounds > 0, "rounds of hubs"},
		{d.Asynchronous != algorithms.No, "with or without rounds"},
		{d.Protocol != "", "made for protocol " + d.Protocol},
		{d.Weights == algorithms.Yes, "weighted updates"},
		{d.Needs.AllClients, "needs every client"},
		{d.Needs.Dual, "needs a loss with a conjugate"},
		{m.Coded, "[compression]"},
		{m.Private, "[privacy]"},
		{d.Work.Steps != nil, "timing mode"},
	} {
		if x.holds {
			abilities = append(abilities, x.text)
		}
	}
	return strings.Join(abilities, "; ")
}

// describeAlgorithm has the summary, the reference and the abilities of an algorithm, its own options and those
// that other methods share.
func describeAlgorithm(f *algorithms.Factory, width int) string {
	o, shares := f.Options(), sharedOptions()
	var own, shared []config.Field
	for _, field := range config.Fields(o) {
		if shares[[2]string{field.Key, field.Doc}] < sharedBy {
			own = append(own, field)
		} else {
			shared = append(shared, field)
		}
	}
	text := columns.Wrap(f.Name+": "+f.Summary, width, 0) + "\n" + columns.Wrap(f.Reference, width, 2) + "\n" +
		columns.Wrap(describeAbilities(f.Describe(o, mtl.Shape{})), width, 2) + "\n" +
		optionsText("options", own, width)
	if len(shared) > 0 {
		text += "shared with other methods:\n" + optionsText("options", shared, width)
	}
	return text
}
