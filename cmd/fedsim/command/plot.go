package command

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

func newPlot() *cobra.Command {
	var p plotFlags
	cmd := &cobra.Command{
		Use:   "plot DIR...",
		Short: "Draw figures again, with other axes",
		Long: `Draw the figures of a finished or interrupted run again, from its rounds.parquet. To
change a figure, edit [experiment.figure] in the scenario.toml of the run
directory, or give the quantities of its axes.

With several directories, the figures of the first show the runs of all: methods
of fedsim beside a program that drives fedsim engine, for example.`,
		Example: `  fedsim plot runs/quickstart
  fedsim plot runs/quickstart --out paper/figures
  fedsim plot runs/quickstart --x energy_j --y test_error --out paper
  fedsim plot runs/mocha runs/flower --out comparison`,
		Args:              takes(1, math.MaxInt, "run directories"),
		ValidArgsFunction: completeDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.redraw(cmd, args)
		},
	}
	cmd.Flags().StringVar(&p.out, "out", "",
		"directory for the figures; needed with several directories, --x or --y (default DIR/figures)")
	cmd.Flags().StringVar(&p.x, "x", "",
		"quantity of the horizontal axis of all figures (default that of [experiment.figure])")
	cmd.Flags().StringVar(&p.y, "y", "",
		"quantity of the vertical axis of all figures (default that of [experiment.figure])")
	completeFlag(cmd, "out", completeDirectory)
	completeFlag(cmd, "x", oneOf(results.XNames))
	completeFlag(cmd, "y", oneOf(results.YNames))
	return cmd
}

type plotFlags struct{ out, x, y string }

// redraw draws the figures of the first run directory, with the runs of all, to p.out. If
// that is empty, they go to the folder figures of the only directory, which must not link
// to a place outside it.
func (p *plotFlags) redraw(cmd *cobra.Command, dirs []string) error {
	first, err := p.read(cmd, dirs[0])
	if err != nil {
		return err
	}
	scenario, err := scenario.ParseRecorded(dirs[0], first.Scenario)
	if err != nil {
		return err
	}
	runs := first.Runs
	for _, dir := range dirs[1:] {
		other, err := p.read(cmd, dir)
		if err != nil {
			return err
		}
		if runs, err = addRuns(runs, other.Runs, dir); err != nil {
			return err
		}
	}
	if err := p.changeAxes(scenario, runs); err != nil {
		return err
	}
	out := p.out
	switch {
	case out != "":
		err = os.MkdirAll(out, 0o777)
	case len(dirs) > 1 || p.x != "" || p.y != "":
		return usagef("these figures are not those of the run directory: choose another directory with --out")
	default:
		files, err := into.Redraw(dirs[0], scenario, runs)
		return errors.Join(err, printFigures(cmd.OutOrStdout(), filepath.Join(dirs[0], "figures"), files))
	}
	if err != nil {
		return err
	}
	files, err := into.Draw(out, scenario, runs)
	return errors.Join(err, printFigures(cmd.OutOrStdout(), out, files))
}

// read reads a run directory, with its values by client.
func (p *plotFlags) read(cmd *cobra.Command, dir string) (*rundir.Results, error) {
	found, err := rundir.Read(dir)
	if err != nil {
		return nil, err
	}
	noteAbsent(cmd.ErrOrStderr(), dir, &found.Manifest)
	return found, rundir.AddClients(dir, found.Runs)
}

// changeAxes sets the axes of all figures that the flags name. None shows a distribution over
// clients.
func (p *plotFlags) changeAxes(s *scenario.Scenario, runs []results.Run) error {
	if p.x == "" && p.y == "" {
		return nil
	}
	for i := range runs {
		runs[i].ByClient = nil
	}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		own := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
		figure := plots.Default(own, s.Targets())
		if k := slices.IndexFunc(e.Figures, func(f results.Figure) bool { return f.Kind == results.Lines }); k >= 0 {
			figure = e.Figures[k]
		}
		if p.x != "" {
			figure.X, figure.XScale, figure.XMax = p.x, "linear", 0
		}
		if p.y != "" {
			figure.Y, figure.YScale, figure.YMin, figure.YMax = p.y, "", 0, 0
		}
		c := config.NewChecker()
		figure.Validate(c)
		if !slices.ContainsFunc(results.NamedMetrics(runs), func(m results.Metric) bool { return m.Name == figure.Y }) {
			figure.CheckColumn(c)
		}
		if problems := c.Problems(); len(problems) > 0 {
			return usagef("--%s", problems[0])
		}
		e.Figures = []results.Figure{figure}
	}
	return nil
}

// addRuns adds the runs of another directory. They belong to the experiment of the same
// name, or to the only one. A method that exists already gets the name of the directory
// in its label.
func addRuns(runs, other []results.Run, dir string) ([]results.Run, error) {
	var names []string
	methods := map[string]bool{}
	for i := range runs {
		if !slices.Contains(names, runs[i].Experiment) {
			names = append(names, runs[i].Experiment)
		}
		methods[runs[i].Experiment+"\x00"+runs[i].Method] = true
	}
	for _, r := range other {
		if !slices.Contains(names, r.Experiment) {
			if len(names) != 1 {
				return nil,
					fmt.Errorf("%s: experiment %s is none of the first directory: %s", dir, r.Experiment,
						strings.Join(names, ", "))
			}
			r.Experiment = names[0]
		}
		if len(runs) > 0 && r.Relative != runs[0].Relative {
			return nil,
				fmt.Errorf("%s: times are in other units than those of the first directory (federation.cost)", dir)
		}
		if methods[r.Experiment+"\x00"+r.Method] {
			r.Method = fmt.Sprintf("%s (%s)", r.Method, filepath.Base(filepath.Clean(dir)))
		}
		runs = append(runs, r)
	}
	return runs, nil
}
