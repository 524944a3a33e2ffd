package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment/plan"
	"fedsim/scenarios"
)

// planFlags are the flags of fedsim plan.
type planFlags struct {
	line []string // the command line
	set  []string
	out  string
}

func newPlan(line []string) *cobra.Command {
	f := planFlags{line: line}
	cmd := &cobra.Command{
		Use:   "plan SCENARIO -o DIR",
		Short: "Divide a scenario into groups of runs for several processes",
		Long: `Write the plan of a scenario to a directory that all machines of a cluster can
read and write. A plan divides the runs into groups. Runs that share their
computation are in one group. Prerequisites of groups, such as a reference
optimum or the tuning of a method, are made once.

The same scenario and version of fedsim give the same plan. "fedsim work DIR" does
the work, and "fedsim merge DIR" makes the run directory of it.`,
		Example: `  fedsim plan lte-high-var -o plans/lte`,
		Args:    takes(1, 1, "one scenario (a file or the name of a shipped scenario)"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.plan(cmd, args[0]) },
	}
	cmd.ValidArgsFunction = first(completeScenario)
	addSet(cmd, &f.set, "")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "directory of the plan")
	completeFlag(cmd, "out", completeDirectory)
	return cmd
}

func (f *planFlags) plan(cmd *cobra.Command, name string) error {
	if f.out == "" {
		return usagef("-o DIR is missing: name a directory for the plan that all machines can read and write")
	}
	s, err := scenarios.Load(name, f.set)
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), s)
	p, err := plan.New(cmd.Context(), s, readVersion().String(), f.runCommand())
	if err != nil {
		return err
	}
	if err := p.Write(f.out, s); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "plan: %s (%d runs in %d groups, %d prerequisites)\n", f.out, p.Runs, len(p.Groups), len(p.Needs))
	return err
}

// runCommand returns the command line of the run that the merged directory equals.
func (f *planFlags) runCommand() []string {
	line := slices.Clone(f.line)
	if i := slices.Index(line, "plan"); i >= 0 {
		line[i] = "run"
	}
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == "-o" || line[i] == "--out":
			line = slices.Delete(line, i, min(i+2, len(line)))
			i--
		case strings.HasPrefix(line[i], "-o") || strings.HasPrefix(line[i], "--out="):
			line = slices.Delete(line, i, i+1)
			i--
		}
	}
	return line
}
