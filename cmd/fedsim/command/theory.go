package command

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/theory"
	"fedsim/internal/tools/columns"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// chartFile is the name of the figure of the bounds, without its extension.
const chartFile = "theory-bound"

type theoryFlags struct {
	line []string // the command line
	set  []string
	directoryFlags
	computeFlags
	outputFlags
	target float64
	seeds  int

	twin     bool
	rounds   int // of twin
	optimize string
	goal     string
}

func init() { ofRooms = append(ofRooms, newTheory) }

// newTheory returns the command. The manifest records line, the command line.
func newTheory(line []string) *cobra.Command {
	f := theoryFlags{line: line}
	cmd := takesOne(&cobra.Command{
		Use:   "theory SCENARIO",
		Short: "Compare a run with the theorems of the paper",
		Long: `Compare the convergence of a scenario with the theorems of the paper.

The command runs SCENARIO (a file or the name of a shipped scenario) for a single
W update and measures the accuracy theta of every local solve. It prints the
constants of the analysis (sigma_t, sigma', s, Theta-bar, ...) and the number of
rounds until the expected D(alpha) - D* is at most the target. One number is the
bound of Theorem 1 (smooth losses) or Theorem 2 (Lipschitz losses), the other is
measured over the seeds. Theorem 2 bounds the mean of alpha over the rounds H0+1
to H; the measurement is of alpha itself.

The run directory has the files that "fedsim run" writes. In addition,
figures/theory-bound.png and .svg show the measured D(alpha) - D* and the bound,
and devices.parquet has theta for each device and round.

Of methods whose clients send a gradient ("asgd", "ringmaster", "rennala", "rescaled",
"ringleader"; docs/methods.md), with options.measure = true, it prints the bounds of their
theorems on the seconds until E|grad f(w)|^2 is at most the target, beside the measured time. A
row says so where a theorem is not known.

With --twin the command runs SCENARIO without learning (run.mode = "timing"), and prints closed
forms of throughput, staleness, the length of rounds, participants and energy, of each method and
point, beside the simulated values with their standard errors and z, and how each holds: exact,
asymptotic, approximate, or which key has no form (docs/theory.md). Of a sweep of one key,
figures/theory-*.png and .svg show both. With --optimize KEY it evaluates the form over a grid of KEY,
and simulates the best point, its neighbors, and the scenario as it stands.

The command fails if a measurement exceeds its bound, or an exact form has |z| > 4. It exits
with status 3 if a run stalled; the rounds before the stall are compared. It cannot be resumed.`,
		Example: `  fedsim theory theory
  fedsim theory theory --target 0.01 --seeds 20 --set faults.drop_phase=upload
  fedsim theory my.toml --set problem.loss=logistic --out runs/logistic-theory
  fedsim theory quickstart --twin
  fedsim theory my.toml --optimize federation.deadline_s --for joules`,
	}, oneScenario, completeScenario, f.run)
	addSet(cmd, &f.set, "")
	flags := cmd.Flags()
	flags.Float64Var(&f.target, "target", 0,
		"epsilon_D, the target for D(alpha) - D*; 0: n/1000 (m/1000 with loss_scaling \"mean\"); "+
			"or that for |grad f(w)|^2; 0: a tenth of the first")
	flags.IntVar(&f.seeds, "seeds", 0, "run with seeds 1 to N; 0: the seeds of the scenario")
	f.addTwin(cmd)
	f.directoryFlags.add(cmd, "runs/<scenario name>-theory")
	f.computeFlags.add(cmd)
	f.addQuiet(cmd)
	return cmd
}

func (f *theoryFlags) check() error {
	switch {
	case !(f.target >= 0) || math.IsInf(f.target, 1):
		return usagef("--target=%v: must be a number that is not negative; 0 is n/1000", f.target)
	case f.seeds < 0:
		return usagef("--seeds=%d: must not be negative; 0 uses the seeds of the scenario", f.seeds)
	default:
		if err := f.checkTwin(); err != nil {
			return err
		}
		return f.computeFlags.check(f.quiet)
	}
}

// sets returns the overrides of the user, followed by those that the theorems require.
func (f *theoryFlags) sets() []string {
	sets := slices.Clone(f.set)
	if f.seeds > 0 {
		seeds := make([]string, f.seeds)
		for i := range seeds {
			seeds[i] = strconv.Itoa(i + 1)
		}
		sets = append(sets, "run.seeds=["+strings.Join(seeds, ",")+"]")
	}
	if f.twins() {
		for _, key := range []string{"eval_clients", "stop_at", "max_time_s", "theta_every", "metric", "targets",
			"client_metrics", "clients_every", "save_model"} { // of runs that learn
			sets = append(sets, "run."+key+"=")
		}
		return append(sets, "run.mode=timing", "run.outer=1", "run.devices=false",
			fmt.Sprintf("run.rounds=%d", f.rounds))
	}
	return append(sets, "run.mode=learning", "run.outer=1", "run.eval_clients=", "run.stop_at=")
}

// load loads the scenario. inSeconds says whether the theorems of its methods bound seconds.
func (f *theoryFlags) load(name string) (s *scenario.Scenario, inSeconds bool, err error) {
	if s, err = scenario.Load(name, f.sets()); err != nil {
		return nil, false, err
	}
	for _, e := range s.Experiments {
		if slices.ContainsFunc(e.Figures, func(f results.Figure) bool { return f.File == chartFile }) {
			return nil, false,
				usagef("experiment %s: figure.file = %q: is the name of the figure of the bounds: choose another",
					e.Name, chartFile)
		}
	}
	if f.twins() || experiment.InSeconds(s.Experiments) {
		return s, true, nil
	}
	s, err = scenario.Load(name, append(f.sets(), "run.eval_every=1", "run.theta_every=1"))
	return s, false, err
}

func (f *theoryFlags) run(cmd *cobra.Command, name string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if f.optimize != "" {
		return f.search(cmd, name)
	}
	scenario, inSeconds, err := f.load(name)
	if err != nil {
		return err
	}
	return f.compare(cmd, scenario, inSeconds, nil)
}

// compare runs a scenario into a directory, and prints it beside the theorems, or the closed forms. report adds to
// these; nil: nothing.
func (f *theoryFlags) compare(cmd *cobra.Command, scenario *scenario.Scenario, inSeconds bool,
	report func([]experiment.Twin) (string, error)) (err error) {
	if f.out == "" {
		f.out = filepath.Join("runs", scenario.Name+"-theory")
	}
	p := f.display(cmd, f.quiet)
	o := f.directoryFlags.options(f.line)
	o.Compute, o.Permit, o.Whole = f.computeFlags.options(cmd), f.permit(cmd), true
	o.Compute.Progress = p.update
	d, err := into.Create(scenario, o)
	if err != nil {
		return err
	}
	defer func() { err = d.Close(err) }()
	var found []experiment.Comparison
	var timed []experiment.Timed
	var twins []experiment.Twin
	switch {
	case f.twins():
		twins, err = experiment.Twins(cmd.Context(), scenario.Experiments, d.Options())
	case inSeconds:
		timed, err = experiment.Seconds(cmd.Context(), scenario.Experiments, f.target, d.Options())
	default:
		found, err = experiment.Theory(cmd.Context(), scenario.Experiments, f.target, d.Options())
	}
	p.end()
	if err != nil {
		if !experiment.Interrupted(err) {
			return err
		}
		if err := d.Save(); err != nil {
			return err
		}
		return f.interrupted(cmd, d, err)
	}
	text, exceeded := tableText(timed, whereTimed, boundRows), late(timed)
	var chart []string
	var undrawn error
	switch {
	case f.twins():
		text, exceeded = twinText(twins), contradicted(twins)
		chart, undrawn = drawTwins(d.Writer, twins)
		if report != nil {
			said, err := report(twins)
			text, exceeded = text+said, errors.Join(exceeded, err)
		}
	case !inSeconds:
		text, exceeded = tableText(found, where, theoryRows), broken(found)
		chart, undrawn = drawTheory(d.Writer, found)
	}
	// Save the results even if drawing failed.
	if err := d.Complete(); err != nil {
		return errors.Join(undrawn, err)
	}
	if err := printText(f.text(cmd), text+pathsText(d, append(chart, d.Figures...))); err != nil {
		return err
	}
	return errors.Join(d.Undrawn, undrawn, exceeded, stalls(d.Writer.Runs()))
}

func drawTheory(w *rundir.Writer, found []experiment.Comparison) ([]string, error) {
	dir, err := w.FiguresDir()
	if err != nil {
		return nil, err
	}
	chart := plots.Chart{
		File: chartFile, Title: "Distance from the optimum: bound and measurement",
		XLabel: "rounds", YLabel: "D(α) − D*", Steps: true,
		Lines: []string{"bound", "corollary, measured θ", "measured mean"},
		Bands: "band: lowest to highest of the runs",
	}
	for i := range found {
		c := &found[i]
		x := make([]float64, len(c.Mean))
		for h := range x {
			x[h] = float64(h)
		}
		panel := plots.ChartPanel{Title: where(c),
			Lines: []plots.ChartLine{{X: x, Y: c.Curve}, {}, {X: x, Y: c.Mean, Low: c.Low, High: c.High}}}
		if c.Corollary != nil {
			panel.Lines[1] = plots.ChartLine{X: x, Y: c.Corollary}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	return plots.SaveChart(dir, chart)
}

// where and whereTimed name a comparison by its method and its sweep point.
func where(c *experiment.Comparison) string { return placeOf(c.Method, c.Point) }
func whereTimed(t *experiment.Timed) string { return placeOf(t.Method, t.Point) }

func placeOf(method string, point []results.Setting) string {
	if len(point) > 0 {
		method += ", " + plots.PointText(point)
	}
	return method
}

// broken returns an error for each comparison whose measurement exceeds its bound.
func broken(found []experiment.Comparison) error {
	var wrong []error
	for i := range found {
		if h, bound, ok := found[i].Violation(); !ok {
			wrong = append(wrong,
				fmt.Errorf("%s: the measured D(alpha) - D* of %.3g exceeds the bound of %.3g in round %d",
					where(&found[i]), found[i].Mean[h], bound, h))
		}
	}
	return errors.Join(wrong...)
}

// tableRow is a row of a table with a column for each comparison: a name, and its value in one.
type tableRow[T any] struct {
	name  string
	value func(*T) string
}

// tableText returns a table with a column for each comparison.
func tableText[T any](found []T, head func(*T) string, rows []tableRow[T]) string {
	var t columns.Table
	for i := range found {
		t.Groups = append(t.Groups, columns.Group{Heads: []string{head(&found[i])}})
	}
	for _, row := range rows {
		cells := []string{row.name}
		for i := range found {
			cells = append(cells, row.value(&found[i]))
		}
		t.Add(cells...)
	}
	return columns.Sections{{Table: t}}.Text(textWidth())
}

// theoryRows are the rows of the table of bounds in rounds.
var theoryRows = []tableRow[experiment.Comparison]{
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

// short formats a number with four digits; "-" if it does not exist.
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

// spread formats the range of values.
func spread(values []float64) string {
	low, high := short(slices.Min(values)), short(slices.Max(values))
	if low == high {
		return low
	}
	return low + " to " + high
}

// phase formats h0 or H0 of Theorem 2.
func phase(c *experiment.Comparison, which int) string {
	b, ok := c.Bound.(theory.Lipschitz)
	if !ok {
		return "-"
	}
	h0, from, _ := b.Phases(c.Target)
	return short([]float64{h0, from}[which])
}
