package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fedsim/algorithms"
	"fedsim/config"
)

func newAlgorithms() *cobra.Command {
	return &cobra.Command{
		Use:     "algorithms",
		Short:   "List the algorithms with their options",
		Example: "  fedsim algorithms",
		Args:    takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, name := range algorithms.Names() {
				if i > 0 {
					if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
						return err
					}
				}
				if err := describeAlgorithm(cmd.OutOrStdout(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func describeAlgorithm(w io.Writer, name string) error {
	f, ok := algorithms.Lookup(name)
	if !ok {
		panic("command: the registry names an algorithm that it does not hold: " + name)
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n  %s\n", f.Name, f.Summary, f.Reference); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range config.Fields(f.Options()) {
		if _, err := fmt.Fprintf(table, "  options.%s\t%s\t%s\t%s\n", o.Key, o.Type, o.Default, o.Doc); err != nil {
			return err
		}
	}
	return table.Flush()
}
