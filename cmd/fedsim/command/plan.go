package command

import (
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/mtl"
)

type planFlags struct {
	line []string // the command line
	set  []string
	out  string

	groupTime time.Duration
}

func init() { ofRooms = append(ofRooms, newPlan) }

func newPlan(line []string) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "plan",
		Short: "Divide a scenario for several machines; submit, work, merge",
		Example: `  fedsim plan make lte-high-var -o plans/lte
  fedsim plan submit plans/lte --engine local
  fedsim show plans/lte --watch
  fedsim plan merge plans/lte`,
	}, newPlanMake(line), newSubmit(), newWork(), newMerge())
}

func newPlanMake(line []string) *cobra.Command {
	f := planFlags{line: line}
	cmd := takesOne(&cobra.Command{
		Use:   "make SCENARIO -o DIR",
		Short: "Divide a scenario into groups of runs for several processes",
		Long: `Write the plan of a scenario to a directory that all machines of a cluster can
read and write. A plan divides the runs into groups. Runs that share their
computation are in one group. Prerequisites of several groups, such as a reference
optimum or the tuning of a method, are made once; those of one group are made in it.

Short runs are packed into groups: about a hundred, none longer than --group-time.
Times and memory are estimated from the sizes of data, models and rounds. Runs that
end early take less, and the time of a reference optimum is a guess. DIR/plan.json
lists the groups, and "fedsim show DIR --json" their state.

The same scenario and version of fedsim give the same plan. "fedsim plan work
DIR" does the work, and "fedsim plan merge DIR" makes the run directory of it.

With run.seeds = "until-certain", DIR/1 is the plan of the first seeds. Once they
are done, "fedsim settle --plan DIR" decides, or plans more in DIR/2, and so on.
The other commands take the last one; merge takes all.`,
		Example: `  fedsim plan make lte-high-var -o plans/lte
  fedsim plan make lte-high-var -o plans/long --set run.rounds=500`,
	}, "one scenario, a file or the name of a shipped scenario", completeScenario, f.plan)
	addSet(cmd, &f.set, "")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "`DIR` directory of the plan")
	completeFlag(cmd, "out", completeDirectory)
	cmd.Flags().DurationVar(&f.groupTime, "group-time", plan.DefaultGroupTime,
		"`TIME` pack short runs into groups of about this time at most, as estimated")
	return cmd
}

func (f *planFlags) plan(cmd *cobra.Command, name string) error {
	if f.out == "" {
		return usagef("-o DIR is missing: name a directory for the plan that all machines can read and write")
	}
	if f.groupTime < 0 {
		return usagef("--group-time must not be negative")
	}
	s, err := scenario.Load(name, f.set)
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), s)
	if err := checkRuns(cmd.Context(), cmd.ErrOrStderr(), s); err != nil {
		return err
	}
	for i := range s.Experiments {
		if s.Experiments[i].Jobs[0].Candidates[0].Settings.Problem.Model == mtl.ModelExternal {
			printLine(cmd.ErrOrStderr(), "note: the time and memory of an external model are not counted: "+
				"its program, which plan does not start, says how large it is; the runs start it, "+
				"and are refused if they do not fit into memory", false)
			break
		}
	}
	o := plan.Options{Version: readVersion().String(), Command: f.runCommand(name), GroupTime: f.groupTime}
	dir := f.out
	c, err := into.Settle(s, nil)
	if err != nil {
		return err
	}
	if c != nil {
		o.Places, dir = c.Places, plan.Batch(f.out, 1)
	}
	p, err := plan.New(cmd.Context(), s, o)
	if err != nil {
		return err
	}
	if err := p.Write(dir, s); err != nil {
		return err
	}
	return printPlan(cmd, p, dir)
}

func printPlan(cmd *cobra.Command, p *plan.Plan, dir string) error {
	groups := len(p.Groups())
	return printf(cmd.OutOrStdout(), "plan: %s (%s in %s, %s, about %s on one core)\n", dir,
		count(p.Runs, "run"), count(groups, "group"), count(len(p.Items)-groups, "prerequisite"), planTime(p.TimeS()))
}

// runCommand returns the command line of the run that the merged directory equals.
func (f *planFlags) runCommand(scenario string) []string {
	line := []string{f.line[0], "run", scenario}
	for _, set := range f.set {
		line = append(line, "--set", set)
	}
	return line
}
