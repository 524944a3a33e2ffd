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
		Short: "Draw the figures of a finished or interrupted run anew",
		Long: `Draw the figures of a finished or interrupted run anew, from its rounds.csv and
as its scenario.toml says: edit [experiment.figure] there to change them.`,
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

// redraw draws the figures of a run directory into dir, or else into its own folder,
// which must not be a link out of it.
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

// makeWithin makes a folder of a directory, unless it is there; a link that leads out
// of the directory is an error.
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
		return fmt.Errorf("%s: figures cannot be drawn there, choose another directory with --out: %w", filepath.Join(dir, folder), err)
	}
	return nil
}
