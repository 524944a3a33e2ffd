package command

import (
	"errors"
	"math"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
)

// ofCheck add what rooms check: flags to the command, and a function that does it if they ask for it.
var ofCheck []func(cmd *cobra.Command) func(args []string) (asked bool, err error)

func newCheck() *cobra.Command {
	var others []func(args []string) (bool, error)
	cmd := &cobra.Command{
		Use:   "check FILE...\ncheck --model FILE\ncheck --learner -- COMMAND",
		Short: "Check a scenario, a model or a learner, and count the runs",
		Long: `Check scenarios and count their experiments and runs. All errors are reported, each
with file, line and column. Data files are not opened: settings that do not fit
their devices are refused when the scenario runs.

--model starts the program of an external model, --learner a
learner (docs/protocols.md). Both play its protocol, compare the answers of
several processes, and print a line for each rule that is broken.`,
		Example: `  fedsim check mine.toml scenarios/*.toml
  fedsim check --model mine.toml
  fedsim check --learner -- python3 learner.py`,
		ValidArgsFunction: completeScenario,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, other := range others {
			if asked, err := other(args); asked || err != nil {
				return err
			}
		}
		if err := takes(1, math.MaxInt, "one or more scenarios (files or names of shipped scenarios)")(cmd,
			args); err != nil {
			return err
		}
		return checkScenarios(cmd, args)
	}
	for _, of := range ofCheck {
		others = append(others, of(cmd))
	}
	return cmd
}

// checkScenarios checks scenarios, and prints how many runs each has.
func checkScenarios(cmd *cobra.Command, names []string) error {
	var wrong config.Errors
	var refused error
	for _, name := range names {
		s, err := scenario.Load(name, nil)
		if problems, ok := errors.AsType[config.Errors](err); ok {
			wrong.Merge(problems)
			continue
		}
		if err != nil {
			return err
		}
		printNotes(cmd.ErrOrStderr(), s)
		if err := checkRuns(cmd.Context(), cmd.ErrOrStderr(), s); err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		text := count(len(s.Experiments), "experiment") + ", "
		if runs := experiment.Total(s.Experiments); runs > 0 {
			text += count(runs, "run")
		} else {
			text += "runs until results are certain"
		}
		if err := printf(cmd.OutOrStdout(), "%s: %s\n", name, text); err != nil {
			return err
		}
	}
	return errors.Join(wrong.Err(), refused)
}
