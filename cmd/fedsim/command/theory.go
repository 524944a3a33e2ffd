package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/columns"
	"fedsim/mtl/theory"
	"fedsim/plots"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// chartFile is the figure of the bounds, without its extension.
const chartFile = "theory-bound"

// theoryFlags are the flags of fedsim theory.
type theoryFlags struct {
	runFlags
	target float64
	seeds  int
}

// newTheory returns the command; line is the command line, for the manifest.
func newTheory(line []string) *cobra.Command {
	f := theoryFlags{runFlags: runFlags{line: line}}
	cmd := &cobra.Command{
		Use:   "theory SCENARIO",
		Short: "Compare a scenario's convergence with the theorems of the paper",
		Long: `Compare a scenario's convergence with the theorems of the paper.

Runs SCENARIO, a file or the name of a shipped one, for a single W update in
which the accuracy theta of every local solve is measured. Then it prints the
constants of the analysis (sigma_t, sigma', s, Theta-bar, ...) and the rounds
until the expected D(alpha) - D* is at most the target: what Theorem 1 (smooth
losses) or Theorem 2 (Lipschitz losses) asks for, and what was measured over the
seeds. Theorem 2 is about the mean of alpha over the rounds H0+1 to H; measured
is alpha itself.

The run directory holds figures/theory-bound.png and .svg, the measured D(alpha) - D*
below the curve of the bound, beside all that "fedsim run" leaves; thetas.csv has
theta of every device and round. The command fails when a curve is crossed, and
exits with status 3 when a run stalled: the rounds before are compared. When it was
interrupted it starts over.`,
		Example: `  fedsim theory theory
  fedsim theory theory --target 0.01 --seeds 20 --set faults.drop_phase=upload
  fedsim theory my.toml --set problem.loss=logistic --out runs/logistic-theory`,
		Args:              takes(1, 1, "one scenario, a file or the name of a shipped one"),
		ValidArgsFunction: first(completeScenario),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	addSet(cmd, &f.set, "")
	flags := cmd.Flags()
	flags.Float64Var(&f.target, "target", 0, "epsilon_D, the D(alpha) - D* to be reached; 0: a thousandth of n (of m under loss_scaling \"mean\")")
	flags.IntVar(&f.seeds, "seeds", 0, "run with the seeds 1 to N; 0: those of the scenario")
	flags.StringVar(&f.out, "out", "", "directory for the results (default runs/<scenario name>-theory)")
	completeFlag(cmd, "out", completeDirectory)
	flags.BoolVar(&f.force, "force", false, "overwrite a run that is there, complete or unfinished")
	f.addComputing(cmd)
	f.addQuiet(cmd)
	return cmd
}

func (f *theoryFlags) check() error {
	switch {
	case !(f.target >= 0) || math.IsInf(f.target, 1):
		return usagef("--target=%v: must be a number that is not negative; 0 is a thousandth of n", f.target)
	case f.seeds < 0:
		return usagef("--seeds=%d: must not be negative; 0 is the seeds of the scenario", f.seeds)
	default:
		return f.runFlags.check()
	}
}

// sets returns the overrides: the user's, then what the theorems need.
func (f *theoryFlags) sets() []string {
	sets := slices.Clone(f.set)
	if f.seeds > 0 {
		seeds := make([]string, f.seeds)
		for i := range seeds {
			seeds[i] = strconv.Itoa(i + 1)
		}
		sets = append(sets, "run.seeds=["+strings.Join(seeds, ",")+"]")
	}
	return append(sets, "run.mode=learning", "run.outer=1", "run.eval_every=1", "run.eval_tasks=0", "run.theta_every=1", "run.stop_at=0")
}

func (f *theoryFlags) run(cmd *cobra.Command, name string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	scenario, err := scenarios.Load(name, f.sets())
	if err != nil {
		return err
	}
	if len(scenario.Experiments) == 0 {
		return usagef("scenario %s makes tables alone: there is no run to hold against the theory", scenario.Name)
	}
	for _, e := range scenario.Experiments {
		if e.Figure != nil && e.Figure.File == chartFile {
			return usagef("experiment %s: figure.file = %q: must not be the name of the figure of the bounds", e.Name, chartFile)
		}
	}
	if f.out == "" {
		f.out = filepath.Join("runs", scenario.Name+"-theory")
	}
	w, err := f.create(scenario, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Discard()) }()
	stop, err := f.profiles.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	p := f.newProgress(cmd)
	found, err := experiment.Theory(cmd.Context(), scenario.Experiments, f.target, experiment.Options{
		Workers: f.workers, Queue: f.queue,
		Progress: p.update, Rounds: w.Rounds, Finished: w.Add, Devices: devicesOf(w), Clock: time.Now,
	})
	p.end()
	if err != nil {
		if experiment.Interrupted(err) {
			return f.keep(cmd, w, scenario, nil, err)
		}
		return err
	}
	figures, drawn := draw(w, scenario)
	chart, failed := drawTheory(w, found)
	// What was computed is kept even when it could not be drawn.
	if err := w.Finish(rundir.Complete, ended()); err != nil {
		return errors.Join(drawn, failed, err)
	}
	if err := writeTheory(f.text(cmd), found); err != nil {
		return err
	}
	if err := located(f.text(cmd), w, append(chart, figures...)); err != nil {
		return err
	}
	return errors.Join(drawn, failed, broken(found), stalls(w.Runs()))
}

// drawTheory draws the measurements under the curves of the bounds.
func drawTheory(w *rundir.Writer, found []experiment.Comparison) ([]string, error) {
	dir, err := w.FiguresDir()
	if err != nil {
		return nil, err
	}
	chart := plots.Chart{
		File: chartFile, Title: "Distance from the optimum: bound and measurement",
		XLabel: "rounds", YLabel: "D(α) − D*", Steps: true, Lines: []string{"bound", "corollary, measured θ", "measured mean and range"},
	}
	for i := range found {
		c := &found[i]
		x := make([]float64, len(c.Mean))
		for h := range x {
			x[h] = float64(h)
		}
		panel := plots.ChartPanel{Title: where(c), Lines: []plots.ChartLine{{X: x, Y: c.Curve}, {}, {X: x, Y: c.Mean, Low: c.Low, High: c.High}}}
		if c.Corollary != nil {
			panel.Lines[1] = plots.ChartLine{X: x, Y: c.Corollary}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	return plots.SaveChart(dir, chart)
}

// where names a comparison: its method and its place on the axes.
func where(c *experiment.Comparison) string {
	text := c.Method
	if len(c.Point) > 0 {
		text += ", " + plots.PointText(c.Point)
	}
	return text
}

// broken returns an error for each comparison whose measurement crosses the
// curve of its bound.
func broken(found []experiment.Comparison) error {
	var wrong []error
	for i := range found {
		if h, bound, ok := found[i].Violation(); !ok {
			wrong = append(wrong, fmt.Errorf("%s: the measured D(alpha) - D* of %.3g lies above the bound of %.3g in round %d",
				where(&found[i]), found[i].Mean[h], bound, h))
		}
	}
	return errors.Join(wrong...)
}

// theoryRows are the rows of the table: a name and its value for a comparison.
var theoryRows = []struct {
	name  string
	value func(*experiment.Comparison) string
}{
	{"n", func(c *experiment.Comparison) string { return short(c.N) }},
	{"sigma_t", func(c *experiment.Comparison) string { return spread(c.Sigma) }},
	{"sigma_max", func(c *experiment.Comparison) string { return short(c.SigmaMax) }},
	{"sigma'", func(c *experiment.Comparison) string { return spread(c.SigmaPrime) }},
	{"sigma sigma'", func(c *experiment.Comparison) string { return short(c.Spread) }},
	{"mu", func(c *experiment.Comparison) string { return short(c.Mu) }},
	{"s", func(c *experiment.Comparison) string { return short(c.S) }},
	{"p_max", func(c *experiment.Comparison) string { return short(c.PMax) }},
	{"Theta_max", func(c *experiment.Comparison) string { return short(c.ThetaMax) }},
	{"Theta-bar", func(c *experiment.Comparison) string { return short(c.ThetaBar) }},
	{"p_max, later half", func(c *experiment.Comparison) string { return short(c.LaterPMax) }},
	{"Theta_max, later half", func(c *experiment.Comparison) string { return short(c.LaterThetaMax) }},
	{"target", func(c *experiment.Comparison) string { return short(c.Target) }},
	{"theorem", func(c *experiment.Comparison) string {
		if c.Mu > 0 {
			return "1"
		}
		return "2"
	}},
	{"h0", func(c *experiment.Comparison) string { return phase(c, 0) }},
	{"H0", func(c *experiment.Comparison) string { return phase(c, 1) }},
	{"bound H", func(c *experiment.Comparison) string { return short(c.H) }},
	{"measured H", func(c *experiment.Comparison) string {
		if c.Measured < 0 {
			return fmt.Sprintf("not in %d", len(c.Mean)-1)
		}
		return strconv.Itoa(c.Measured)
	}},
	{"measured / bound", func(c *experiment.Comparison) string { return short(c.Ratio()) }},
}

// writeTheory prints a column for each comparison.
func writeTheory(out io.Writer, found []experiment.Comparison) error {
	var t columns.Table
	for i := range found {
		t.Groups = append(t.Groups, columns.Group{Heads: []string{where(&found[i])}})
	}
	var rows [][]string
	for _, row := range theoryRows {
		cells := []string{row.name}
		for i := range found {
			cells = append(cells, row.value(&found[i]))
		}
		rows = append(rows, cells)
	}
	t.Blocks = []columns.Block{{Rows: rows}}
	var b strings.Builder
	t.Write(&b, textWidth())
	_, err := io.WriteString(out, b.String())
	return err
}

// short writes a number with four digits; "-" for one that does not exist.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 1):
		return "unbounded"
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

// spread writes the range of values.
func spread(values []float64) string {
	low, high := short(slices.Min(values)), short(slices.Max(values))
	if low == high {
		return low
	}
	return low + " to " + high
}

// phase writes h0 or H0 of Theorem 2.
func phase(c *experiment.Comparison, which int) string {
	b, ok := c.Bound.(theory.Lipschitz)
	if !ok {
		return "-"
	}
	h0, from, _ := b.Phases(c.Target)
	return short([]float64{h0, from}[which])
}
