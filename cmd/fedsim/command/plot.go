package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fedsim/results"
	"fedsim/scenarios"
)

func newPlot() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "plot DIR",
		Short: "Draw the figures of a finished or interrupted run anew",
		Long: `Draw the figures of a finished or interrupted run anew, from its rounds.csv and
as its scenario.toml says: edit [experiment.figure] there to change them.`,
		Example: `  fedsim plot runs/quickstart
  fedsim plot runs/quickstart --out paper/figures`,
		Args:              takes(1, 1, "one run directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := out
			if dir == "" {
				dir = filepath.Join(args[0], "figures")
			}
			return redraw(cmd, args[0], dir)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "directory for the figures (default DIR/figures)")
	completeFlag(cmd, "out", completeDirectory)
	return cmd
}

func redraw(cmd *cobra.Command, run, dir string) error {
	found, err := results.Read(run)
	if err != nil {
		return err
	}
	scenario, err := scenarios.Parse(filepath.Join(run, "scenario.toml"), found.Scenario, nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	files, err := drawInto(dir, scenario, found.Runs)
	for _, name := range files {
		_, printed := fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, name))
		err = errors.Join(err, printed)
	}
	return err
}
