package report

import (
	"cmp"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/plots"
	"fedsim/results"
)

// experimentPage is the part of the page for one experiment.
type experimentPage struct {
	Name     string       `json:"name"`
	Figure   figurePage   `json:"figure"`
	Relative bool         `json:"relative"` // times of a run are in relative units
	Metric   string       `json:"metric"`   // results.Main
	Swept    sweptPage    `json:"swept"`
	Left     []leftBehind `json:"left"` // one per metric by client
	Band     string       `json:"band"` // around the lines at first

	compared []comparison // by known target, or of the ends of the runs
	goal     int          // that is shown at first
	worst    string       // the worst tenth of the clients of each row, if known
}

// comparison compares the rows of an experiment by a target.
type comparison struct {
	target   string
	sections results.Sections
}

// compare adds the comparisons of a summary.
func (e *experimentPage) compare(s *results.ExperimentSummary) {
	for k := range s.Targets {
		if s.Known[k] {
			if k == s.Goal() {
				e.goal = len(e.compared)
			}
			e.compared = append(e.compared, comparison{s.Texts[k], s.Comparison(k, true)})
		}
	}
	if e.compared == nil {
		e.compared = []comparison{{"", s.Comparison(-1, true)}}
	}
	e.worst = s.Worst()
}

// leftBehind shows which clients a model serves worst, by a metric by client.
type leftBehind struct {
	Metric        string         `json:"metric"`
	Label         string         `json:"label"`
	Share         bool           `json:"share"` // values are shares, shown in per cent
	Unit          string         `json:"unit"`  // of the values; empty: none
	Distributions []distribution `json:"distributions"`

	sections results.Sections
}

// distribution is the share of clients at or below a value, of a line in a panel. It begins
// and ends with the other lines, at shares of 0 and 1.
type distribution struct {
	Panel int       `json:"panel"`
	Line  int       `json:"line"`
	X     []float64 `json:"x"`
	Share []float64 `json:"share"`
}

// ofRooms add what other rooms say of the runs of an experiment: the file of each adds its own.
var ofRooms []func(e *experimentPage, runs []results.Run, places []plots.Place)

// figurePage is the initial figure of the curves.
type figurePage struct {
	Title   string       `json:"title"`
	X       string       `json:"x"`
	Y       string       `json:"y"`
	XLog    bool         `json:"x_log"`
	YLog    bool         `json:"y_log"`
	Panels  []string     `json:"panels"` // titles
	Lines   []plots.Line `json:"lines"`
	Legend  string       `json:"legend"` // name of the key of the lines; empty for methods
	Ordered bool         `json:"ordered"`
}

// addExperiments adds the experiments with runs. plots.Default replaces a missing figure,
// and the quantity of a figure if no run records it.
func (r *Report) addExperiments(s *scenario.Scenario, runs []results.Run, targets results.Targets,
	summary *results.Summary) error {
	for i := range s.Experiments {
		e := &s.Experiments[i]
		var own []results.Run
		var index []int
		for k := range runs {
			if runs[k].Experiment == e.Name {
				own, index = append(own, runs[k]), append(index, k)
			}
		}
		if len(own) == 0 {
			continue
		}
		of := experimentPage{Name: e.Name, Metric: results.Main(own).Name}
		of.Relative = slices.ContainsFunc(own, func(r results.Run) bool { return r.Relative })
		places, err := of.arrange(e.Figures, own, targets)
		if err != nil {
			return err
		}
		for k, at := range places {
			run := &r.Runs[index[k]]
			run.Experiment, run.Panel, run.Line = len(r.Experiments), at.Panel, at.Line
		}
		for _, add := range ofRooms {
			add(&of, own, places)
		}
		of.Swept = sweptOf(e, own, targets)
		for k := range summary.Experiments {
			if summary.Experiments[k].Experiment == e.Name {
				of.compare(&summary.Experiments[k])
			}
		}
		r.Experiments = append(r.Experiments, of)
	}
	return nil
}

// arrange sets the figure: the first of the experiment that shows lines.
func (e *experimentPage) arrange(figures []results.Figure, runs []results.Run,
	targets results.Targets) ([]plots.Place, error) {
	fig := plots.Default(runs, targets)
	if i := slices.IndexFunc(figures, func(f results.Figure) bool { return f.Kind == results.Lines }); i >= 0 {
		fig = plots.Available(figures[i], runs, targets)
	}
	a, err := plots.Arrange(fig, runs)
	if err != nil {
		// During a run, there may be no run with the keys of the figure yet.
		plain := results.DefaultFigure()
		plain.X, plain.Y, plain.XScale, plain.YScale = fig.X, fig.Y, fig.XScale, fig.YScale
		if a, err = plots.Arrange(plain, runs); err != nil {
			return nil, err
		}
	}
	fig = a.Figure
	e.Band = cmp.Or(fig.Band, results.BandSE)
	e.Figure = figurePage{
		Title: fig.Title, X: fig.X, Y: fig.Y, XLog: fig.XScale == "log", YLog: fig.YScale == "log",
		Panels: a.Panels, Lines: a.Lines, Legend: a.Legend, Ordered: a.Ordered,
	}
	return a.Runs, nil
}
