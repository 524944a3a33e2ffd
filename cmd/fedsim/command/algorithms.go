package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/algorithms"
	"fedsim/algorithms/compress"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/tools/columns"
	"fedsim/mtl"
)

func newAlgorithms() *cobra.Command {
	return &cobra.Command{
		Use:   "algorithms [NAME]",
		Short: "List algorithms, their options, losses, protocols and selectors",
		Example: `  fedsim algorithms
  fedsim algorithms mocha
  fedsim algorithms oort`,
		Args:              takes(0, 1, "at most one name"),
		ValidArgsFunction: first(oneOf(slices.Concat(algorithms.Names(), federation.ProtocolNames(), federation.SelectorNames(), mtl.LossNames(), compress.Names()[1:]))),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, width := algorithms.Names(), textWidth()
			if len(args) == 0 {
				var texts []string
				for _, name := range names {
					f, _ := algorithms.Lookup(name)
					texts = append(texts, describeAlgorithm(&f, width))
				}
				return printText(cmd.OutOrStdout(), strings.Join(texts, "\n")+modelsText(width)+policiesText(width))
			}
			if text := describePolicy(args[0], width); text != "" {
				return printText(cmd.OutOrStdout(), text)
			}
			f, ok := algorithms.Lookup(args[0])
			if !ok {
				return usagef("%s", config.UnknownName("algorithm", args[0], args[0], names))
			}
			return printText(cmd.OutOrStdout(), describeAlgorithm(&f, width))
		},
	}
}

// modelsText has the sizes of the models, with the digits of MNIST as the example.
func modelsText(width int) string {
	text := "models (problem.model), for d features and C classes (1 for two classes or real targets)"
	text = "\n" + columns.Wrap(text, width, 0) + "\n"
	model := func(about, sizes string, shape mtl.Shape) {
		n := shape.Values()
		about += fmt.Sprintf(" Example with %s: %d values, %.0f FLOPs, %d kB.", sizes, n, shape.RowFLOPs(), 8*n/1000)
		text += columns.Wrap(about, width, 2) + "\n"
	}
	model("linear: D = C d values, and 4 C d FLOPs for the gradient of a row; "+
		"a step of a dual method takes C (4 d + 8).",
		"d = 784, C = 10", mtl.Shape{Features: 784, Outputs: 10})
	model("mlp, hidden = [h]: D = h (d + 1) + C (h + 1) values, and 4 d h + 2 h + 6 h C + 2 C FLOPs; "+
		"primal methods only.",
		"d = 784, C = 10, h = 128", mtl.Shape{Features: 784, Outputs: 10, Hidden: mtl.Widths{128}})
	text += columns.Wrap("Methods say below how many of the D values their messages have. Memory of a client, 8 bytes a value: D while at work (methods that average models) and D to 2 D more once a client of a method with state has taken part, D (mb-sgd), and for dual methods D to 2 D and 2 C for each row, beside W and V of the server. docs/models.md and docs/methods.md have the rest.", width, 2) + "\n"
	return text
}

// policiesText has the formulas of the losses and the summaries of the protocols and the
// selectors.
func policiesText(width int) (text string) {
	paragraph := func(name, about string) { text += columns.Wrap(name+": "+about, width, 2) + "\n" }
	text += "\nlosses (problem.loss) of a score z and a label y; g is problem.smoothing\n"
	for _, name := range mtl.LossNames() {
		f, _ := mtl.LookupLoss(name)
		paragraph(name, f.Formula)
	}
	text += "\nprotocols (federation.protocol)\n"
	for _, name := range federation.ProtocolNames() {
		f, _ := federation.LookupProtocol(name)
		paragraph(name, f.Summary)
	}
	text += "\nselectors (federation.selection)\n"
	for _, name := range federation.SelectorNames() {
		f, _ := federation.LookupSelector(name)
		paragraph(name, f.Summary)
	}
	return text
}

// describePolicy describes the protocol, the selector, the loss or the codec of a name, with source
// and options; empty: there is none.
func describePolicy(name string, width int) string {
	if f, ok := federation.LookupProtocol(name); ok {
		return describeChoice(name+", a protocol (federation.protocol): "+f.Summary, f.Reference, "federation.protocol_options", f.Options, width)
	}
	if slices.Contains(compress.Names(), name) && name != compress.None {
		codec := compress.Defaults()
		return columns.Wrap(name+", a codec of messages (compression.up, compression.down; docs/compression.md)", width, 0) + "\n" + describeOptions("compression", &codec, width)
	}
	if f, ok := mtl.LookupLoss(name); ok {
		text := columns.Wrap(name+", a loss (problem.loss): "+f.Formula, width, 0) + "\n"
		if f.New != nil {
			text += columns.Wrap("The conjugate loss*(-a) is "+f.Conjugate+", finite where: "+f.Domain+".", width, 2) + "\n"
		}
		return text + columns.Wrap(f.Reference, width, 2) + "\n"
	}
	f, ok := federation.LookupSelector(name)
	if !ok {
		return ""
	}
	return describeChoice(name+", a selector (federation.selection): "+f.Summary, f.Reference, "federation.selection_options", f.Options, width)
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
func describeOptions(table string, options config.Options, width int) string {
	text := ""
	for _, o := range config.Fields(options) {
		text += fmt.Sprintf("  %s.%s = %s (%s)\n%s\n", table, o.Key, o.Default, o.Type, columns.Wrap(o.Doc, width, 6))
	}
	return text
}

// describeAbilities lists the abilities and needs of a method with its default options.
func describeAbilities(d algorithms.Description) string {
	abilities := []string{map[algorithms.ModelKind]string{
		algorithms.TaskModels: "a model of each task", algorithms.OneModel: "one model", algorithms.Versions: "one model in versions",
		algorithms.PersonalModels: "one model, and one of each client", algorithms.DeviceModels: "a model of each client",
		algorithms.UnknownModel: "the learner says its abilities when it starts",
	}[d.Model]}
	m, down := &d.Messages, "D"
	if d.Work.Vectors > 1 {
		down = fmt.Sprintf("%d D", d.Work.Vectors)
	}
	up := down
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

// describeAlgorithm has the summary, the reference and the abilities of an algorithm, and the
// type, default and meaning of each option.
func describeAlgorithm(f *algorithms.Factory, width int) string {
	o := f.Options()
	return columns.Wrap(f.Name+": "+f.Summary, width, 0) + "\n" + columns.Wrap(f.Reference, width, 2) + "\n" +
		columns.Wrap(describeAbilities(f.Describe(o, mtl.Shape{})), width, 2) + "\n" +
		describeOptions("options", o, width)
}
