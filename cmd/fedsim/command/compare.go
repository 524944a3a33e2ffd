package command

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/rooms/compare"
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/plainjson"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

type compareFlags struct {
	targets []string
	out     string
	json    bool
}

func init() { ofRooms = append(ofRooms, newCompare) }

func newCompare([]string) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare DIR DIR...",
		Short: "Compare run directories",
		Long: `Compare run directories that differ in settings, seeds or versions of fedsim.

The command lists the settings that differ between the scenario.toml files. For
each experiment, method and sweep point, it prints the virtual time to each target
and the ratio to the time in the first directory. Runs with the same seed are
paired. The interval of a ratio is a bootstrap interval over the seeds.
docs/results.md#comparing-runs explains the method.`,
		Example: `  fedsim compare runs/quickstart runs/3g
  fedsim compare runs/quickstart runs/3g runs/lte --target 1e-2 -o comparison`,
		Args:              takes(2, math.MaxInt, "two or more run directories"),
		ValidArgsFunction: completeDirectory,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringSliceVar(&f.targets, "target", nil,
		"targets to compare: a sub-optimality such as 1e-2, or a metric such as test_error=0.08 (default the targets "+
			"of all directories)")
	cmd.Flags().StringVarP(&f.out, "out", "o", "",
		"directory for compare.csv, compare.md, compare.tex, compare.png and compare.svg (default none)")
	completeFlag(cmd, "out", completeDirectory)
	cmd.Flags().BoolVar(&f.json, "json", false, "print the comparison as JSON (docs/reference/json.md)")
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	targets, err := f.parse()
	if err != nil {
		return err
	}
	dirs, err := f.open(args)
	if err != nil {
		return err
	}
	if err := requireMetrics(targets, dirs); err != nil {
		return err
	}
	c, err := compare.Compare(dirs, targets)
	if err != nil {
		return usageError{err}
	}
	var failed error
	if f.out != "" {
		c.Files, failed = saveComparison(f.out, c)
	}
	// Print the comparison even if a file could not be written or drawn.
	if f.json {
		return errors.Join(failed, plainjson.Print(cmd.OutOrStdout(), c))
	}
	text := c.Sections().Text(textWidth())
	if len(c.Files) > 0 {
		text += "\nfiles:   " + strings.Join(c.Files, "\n         ") + "\n"
	}
	return errors.Join(printText(cmd.OutOrStdout(), text), failed)
}

func (f *compareFlags) parse() (results.Targets, error) {
	var targets results.Targets
	for _, text := range f.targets {
		metric, number, named := strings.Cut(text, "=")
		if !named {
			metric, number = results.Suboptimality, text
		}
		value, err := strconv.ParseFloat(number, 64)
		t := results.Target{Metric: metric, Value: value}
		c := config.NewChecker()
		t.Check(c, "")
		switch {
		case err != nil || math.IsInf(value, 0) || math.IsNaN(value):
			return nil, usagef("--target=%s: must be a number or metric=number, as in test_error=0.08", text)
		case len(c.Problems()) > 0:
			return nil, usagef("--target=%s: %s", text, c.Problems()[0].Want)
		case slices.Contains(targets, t):
			return nil, usagef("--target=%s: is given twice", text)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// requireMetrics reports a target whose metric is neither a column of rounds.parquet, nor declared
// by a learner of the runs, nor a statistic over their clients.
func requireMetrics(targets results.Targets, dirs []*rundir.Results) error {
	names, statistics := results.MetricNames(), map[string]bool{}
	for i := range dirs {
		for _, m := range results.NamedMetrics(dirs[i].Runs) {
			statistics[m.Name] = m.Statistic != ""
			if m.Statistic == "" && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	c := config.NewChecker()
	for _, t := range targets {
		if !statistics[t.Metric] { // they are too many to list
			c.OneOf("", t.Metric, names...)
		}
	}
	if problems := c.Problems(); len(problems) > 0 {
		return usagef("--target=%s: %s", problems[0].Value, problems[0].Want)
	}
	return nil
}

// open reads the directories. It refuses duplicates and an output directory that is
// one of them.
func (f *compareFlags) open(args []string) ([]*rundir.Results, error) {
	var dirs []*rundir.Results
	var seen []os.FileInfo
	for _, name := range args {
		name = filepath.Clean(name)
		d, err := compare.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		for i := range seen {
			if os.SameFile(seen[i], info) {
				return nil, usagef("%s is the same directory as %s: name each directory once", name, dirs[i].Dir)
			}
		}
		if out, err := os.Stat(f.out); f.out != "" && err == nil && os.SameFile(out, info) {
			return nil, usagef("--out=%s: must not be one of the run directories", f.out)
		}
		dirs, seen = append(dirs, d), append(seen, info)
	}
	return dirs, nil
}

// saveComparison writes the tables, draws the figure, and returns the paths of the
// files.
func saveComparison(dir string, c *compare.Comparison) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range c.Sections().Files() {
		path := filepath.Join(dir, file.Name)
		if err := atomicfile.Write(path, file.Write); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	figure, runs := c.Figure()
	drawn, err := plots.Save(dir, figure, runs)
	for _, name := range drawn {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths, err
}
