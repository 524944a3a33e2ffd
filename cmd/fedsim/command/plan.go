package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment/plan"
	"fedsim/scenarios"
)

// planFlags are the flags of fedsim plan.
type planFlags struct {
	line []string // the command line
	set  []string
	out  string

	groupTime, maxTime time.Duration
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
	cmd.Flags().DurationVar(&f.groupTime, "group-time", plan.DefaultGroupTime, "pack short runs into groups of about this time at most, as estimated")
	cmd.Flags().DurationVar(&f.maxTime, "max-time", 0, "stop a group that takes longer; 0: no limit")
	return cmd
}

func (f *planFlags) plan(cmd *cobra.Command, name string) error {
	if f.out == "" {
		return usagef("-o DIR is missing: name a directory for the plan that all machines can read and write")
	}
	if f.groupTime < 0 || f.maxTime < 0 {
		return usagef("--group-time and --max-time must not be negative")
	}
	s, err := scenarios.Load(name, f.set)
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), s)
	p, err := plan.New(cmd.Context(), s, plan.Options{Version: readVersion().String(), Command: f.runCommand(name), GroupTime: f.groupTime, MaxTime: f.maxTime})
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
func (f *planFlags) runCommand(scenario string) []string {
	line := []string{f.line[0], "run", scenario}
	for _, set := range f.set {
		line = append(line, "--set", set)
	}
	return line
}
