package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment/scenario"
	"fedsim/internal/clusters/plan"
)

// planFlags are the flags of fedsim plan.
type planFlags struct {
	line []string // the command line
	set  []string
	out  string
	show bool
	json bool

	groupTime, maxTime time.Duration
}

func newPlan(line []string) *cobra.Command {
	f := planFlags{line: line}
	cmd := &cobra.Command{
		Use:   "plan SCENARIO -o DIR | plan --show DIR",
		Short: "Divide a scenario into groups of runs for several processes",
		Long: `Write the plan of a scenario to a directory that all machines of a cluster can
read and write. A plan divides the runs into groups. Runs that share their
computation are in one group. Prerequisites of several groups, such as a reference
optimum or the tuning of a method, are made once; those of one group are made in it.

Short runs are packed into groups: about a hundred, none longer than --group-time.
Times and memory are estimated from the sizes of data, models and rounds. Runs that
end early take less, and the time of a reference optimum is a guess. --show prints
the groups of a plan directory, or of a scenario without writing its plan.

The same scenario and version of fedsim give the same plan. "fedsim work DIR" does
the work, and "fedsim merge DIR" makes the run directory of it.`,
		Example: `  fedsim plan lte-high-var -o plans/lte
  fedsim plan --show plans/lte
  fedsim plan --show lte-high-var --set run.rounds=500`,
		Args: takes(1, 1, "one scenario (a file or the name of a shipped scenario) or, with --show, the directory of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.plan(cmd, args[0]) },
	}
	cmd.ValidArgsFunction = first(completeScenario)
	addSet(cmd, &f.set, "")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "directory of the plan")
	completeFlag(cmd, "out", completeDirectory)
	cmd.Flags().DurationVar(&f.groupTime, "group-time", plan.DefaultGroupTime, "pack short runs into groups of about this time at most, as estimated")
	cmd.Flags().BoolVar(&f.show, "show", false, "print the groups with their estimated times and memory")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --show: print the plan as JSON (docs/json.md)")
	cmd.Flags().DurationVar(&f.maxTime, "max-time", 0, "stop a group that takes longer; 0: no limit")
	return cmd
}

func (f *planFlags) plan(cmd *cobra.Command, name string) error {
	switch {
	case f.out == "" && !f.show:
		return usagef("-o DIR is missing: name a directory for the plan that all machines can read and write")
	case f.out != "" && f.show:
		return usagef("--show: cannot be combined with -o: it writes nothing")
	case f.json && !f.show:
		return usagef("--json: needs --show")
	case f.groupTime < 0 || f.maxTime < 0:
		return usagef("--group-time and --max-time must not be negative")
	}
	version := readVersion().String()
	if f.show && plan.Is(name) {
		if len(f.set) > 0 {
			return usagef("--set: %s is the directory of a plan, which does not change", name)
		}
		p, _, _, err := plan.Read(name, version)
		if err != nil {
			return err
		}
		return showPlan(cmd.OutOrStdout(), p, f.json)
	}
	s, err := scenario.Load(name, f.set)
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), s)
	if err := checkRuns(cmd.Context(), cmd.ErrOrStderr(), s); err != nil {
		return err
	}
	p, err := plan.New(cmd.Context(), s, plan.Options{Version: version, Command: f.runCommand(name), GroupTime: f.groupTime, MaxTime: f.maxTime})
	if err != nil {
		return err
	}
	if f.show {
		return showPlan(cmd.OutOrStdout(), p, f.json)
	}
	if err := p.Write(f.out, s); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "plan: %s (%s in %s, %s, about %s on one core)\n", f.out,
		count(p.Runs, "run"), count(len(p.Groups()), "group"), count(len(p.Needs()), "prerequisite"), planTime(p.Total().TimeS))
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
