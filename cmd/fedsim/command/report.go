package command

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"fedsim/internal/atomicfile"
	"fedsim/report"
	"fedsim/results"
)

func newReport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make a page of a run: tables, curves, stragglers, energy",
		Long: `Make one page of a run for a browser: what was run, the times to target, curves
that can be zoomed and read off, heat maps of sweeps, who held the rounds up, where
the energy went, the resolved scenario and how to reproduce it. The page is one
file that needs no network. A run that goes on has the page of what was made until
now; "fedsim serve" shows it as it goes.`,
		Example: `  fedsim report runs/quickstart
  fedsim report runs/quickstart -o quickstart.html`,
		Args:              takes(1, 1, "one run directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			if extension := filepath.Ext(out); out != "" && extension != ".html" && extension != ".htm" {
				return usagef("--out=%s: must end in .html or .htm", out) // it is overwritten
			}
			found, err := report.Read(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(args[0], results.ReportFile)
			}
			err = atomicfile.Write(out, func(w io.Writer) error { return report.Write(w, found) })
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the file (default DIR/report.html)")
	return cmd
}
