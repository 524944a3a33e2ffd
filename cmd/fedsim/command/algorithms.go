package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/columns"
)

func newAlgorithms() *cobra.Command {
	return &cobra.Command{
		Use:   "algorithms [NAME]",
		Short: "List the algorithms and their options, protocols and selectors",
		Example: `  fedsim algorithms
  fedsim algorithms mocha`,
		Args:              takes(0, 1, "at most one algorithm"),
		ValidArgsFunction: first(oneOf(algorithms.Names())),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := algorithms.Names()
			if len(args) == 1 {
				if _, ok := algorithms.Lookup(args[0]); !ok {
					return usagef("%s", config.UnknownName("algorithm", args[0], args[0], names))
				}
				names = args
			}
			for i, name := range names {
				if i > 0 {
					if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
						return err
					}
				}
				if err := describeAlgorithm(cmd.OutOrStdout(), name, textWidth()); err != nil {
					return err
				}
			}
			if len(args) == 1 {
				return nil
			}
			return listPolicies(cmd.OutOrStdout(), textWidth())
		},
	}
}

// listPolicies prints the summaries of the protocols and the selectors.
func listPolicies(w io.Writer, width int) error {
	text := "\nprotocols (federation.protocol)\n"
	for _, name := range federation.ProtocolNames() {
		f, _ := federation.LookupProtocol(name)
		text += columns.Wrap(name+": "+f.Summary, width, 2) + "\n"
	}
	text += "\nselectors (federation.selection)\n"
	for _, name := range federation.SelectorNames() {
		f, _ := federation.LookupSelector(name)
		text += columns.Wrap(name+": "+f.Summary, width, 2) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// describeAlgorithm prints the summary and reference of an algorithm, and the type,
// default and meaning of each option.
func describeAlgorithm(w io.Writer, name string, width int) error {
	f, ok := algorithms.Lookup(name)
	if !ok {
		panic("command: unknown algorithm in the list of names: " + name)
	}
	text := columns.Wrap(f.Name+": "+f.Summary, width, 0) + "\n" + columns.Wrap(f.Reference, width, 2) + "\n"
	for _, o := range config.Fields(f.Options()) {
		text += fmt.Sprintf("  options.%s = %s (%s)\n%s\n", o.Key, o.Default, o.Type, columns.Wrap(o.Doc, width, 6))
	}
	_, err := io.WriteString(w, text)
	return err
}
