package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fedsim/results/rundir"
	"fedsim/scenarios"
)

func newPlot() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "plot DIR",
		Short: "Draw the figures of a run directory again",
		Long: `Draw the figures of a finished or interrupted run again, from its rounds.csv. To
change a figure, edit [experiment.figure] in the scenario.toml of the run directory.`,
		Example: `  fedsim plot runs/quickstart
  fedsim plot runs/quickstart --out paper/figures`,
		Args:              takes(1, 1, "one run directory"),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			return redraw(cmd, args[0], out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "directory for the figures (default DIR/figures)")
	completeFlag(cmd, "out", completeDirectory)
	return cmd
}

// redraw draws the figures of a run directory to dir. If dir is empty, they go to the
// folder figures of the run directory, which must not link to a place outside it.
func redraw(cmd *cobra.Command, run, dir string) error {
	found, err := rundir.Read(run)
	if err != nil {
		return err
	}
	scenario, err := scenarios.ParseRecorded(run, found.Scenario)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = filepath.Join(run, "figures")
		err = makeWithin(run, "figures")
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	files, err := drawInto(dir, scenario, found.Runs)
	for _, name := range files {
		_, printed := fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, name))
		err = errors.Join(err, printed)
	}
	return err
}

// makeWithin creates a folder in a directory, unless it exists. A link to a place
// outside the directory is an error.
func makeWithin(dir, folder string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = root.MkdirAll(folder, 0o777)
	if err == nil {
		_, err = root.Stat(folder)
	}
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("%s: cannot write figures here: %w: choose another directory with --out", filepath.Join(dir, folder), err)
	}
	return nil
}
