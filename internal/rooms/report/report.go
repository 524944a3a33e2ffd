package report

import (
	"html/template"
	"slices"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Report is the page: what it says, and the data of its charts. Unknown numbers are null.
type Report struct {
	content `json:"-"`

	Page        template.HTML    `json:"page,omitempty"` // for a page that fetches the data
	Name        string           `json:"name"`
	State       rundir.State     `json:"state"`
	Plan        any              `json:"plan"`     // the state of the plan of the runs; null: there is none
	Expected    int              `json:"expected"` // number of runs of the scenario
	Quantities  []plots.Quantity `json:"quantities"`
	Experiments []experimentPage `json:"experiments"`
	Runs        []reportRun      `json:"runs"`
	Columns     packedColumns    `json:"columns"`
	Shown       int              `json:"shown"` // rows of rounds in Columns
	Rows        int              `json:"rows"`  // rows of rounds in the run directory
	// names of the parts of a path, in the order of the columns path_0, path_1, ...
	Parts []string `json:"parts"`
	// half of the 95 % confidence interval of a mean, in standard errors, by the number of runs
	Student []float64 `json:"student"`
}

// reportRun is a run without its rounds, which are rows First to First+Count-1 of the
// columns.
type reportRun struct {
	ID         string             `json:"id"`
	Experiment int                `json:"experiment"`
	Panel      int                `json:"panel"`
	Line       int                `json:"line"`
	Method     string             `json:"method"`
	Seed       uint64             `json:"seed,string"`
	Status     results.Status     `json:"status"`
	Ended      string             `json:"ended"` // plots.Ended
	First      int                `json:"first"`
	Count      int                `json:"count"`
	Totals     map[string]float64 `json:"totals"`     // rounds, time_s, and each cost of rounds.parquet
	Stragglers *attribution       `json:"stragglers"` // null without rows by device

	tuned, reason        string
	optimum              float64
	eventHash, modelHash results.Hash
	explained            *explain.Report // nil without rows by device
}

// Read returns the report of a run directory. If the run is not complete, it contains the
// rounds so far; see [rundir.ReadLive].
func Read(dir string) (*Report, error) {
	found, err := rundir.ReadLive(dir)
	if err != nil {
		return nil, err
	}
	return Of(dir, &found.Results)
}

// Of returns the report of results. Files that they list are in dir.
func Of(dir string, found *rundir.Results) (*Report, error) {
	scenario, err := scenario.ParseRecorded(dir, found.Scenario)
	if err != nil {
		return nil, err
	}
	claim, err := into.Claim(scenario, found.Runs)
	if err != nil {
		return nil, err
	}
	m := &found.Manifest
	summary := into.Summarize(scenario, found.Runs)
	r := &Report{Name: scenario.Name, State: m.State, Expected: experiment.Total(scenario.Experiments),
		content: content{
			Description: scenario.Description, Absent: m.Absent, Made: m, Scenario: string(found.Scenario),
			claim: claim,
			// the messages
			Messages: summary.Messages(),
			results: slices.DeleteFunc(into.Sections(scenario, found.Runs, true),
				func(s results.Section) bool { return s.Title == "" }),
		}}
	if m.HasClients() || m.HasDevices() {
		if err := rundir.AddClients(dir, found.Runs); err != nil {
			return nil, err
		}
	}
	for n := range 101 {
		r.Student = append(r.Student, plots.Student(n))
	}
	r.addQuantities(found.Runs)
	r.addRuns(found.Runs)
	if err := r.addExperiments(scenario, found.Runs, m.Targets, &summary); err != nil {
		return nil, err
	}
	attributions, err := attribute(dir, found)
	if err != nil {
		return nil, err
	}
	r.pack(found.Runs, attributions)
	return r, nil
}

// addQuantities adds the quantities of the axes; for a quantity with a value per device,
// the median over the devices.
func (r *Report) addQuantities(runs []results.Run) {
	seconds := slices.Clone(runs)
	for i := range seconds {
		seconds[i].Relative = false // Experiment.Relative selects the label
	}
	for _, q := range plots.Quantities(seconds) {
		if q.Devices {
			if !measured(runs) {
				continue
			}
			q.Label = "median " + q.Label
		}
		r.Quantities = append(r.Quantities, q)
	}
}

func (r *Report) addRuns(runs []results.Run) {
	for i := range runs {
		run := &runs[i]
		of := reportRun{
			ID: run.ID, Seed: run.Seed, Status: run.Status, Ended: plots.Ended(run), reason: run.Reason,
			tuned: results.SettingsText(run.Tuned), optimum: run.Optimum, eventHash: results.Hash(run.EventHash),
			modelHash: results.Hash(run.ModelHash),
		}
		sum, last := run.Total(), results.Round{}
		if n := len(run.Rounds); n > 0 {
			last = run.Rounds[n-1]
		}
		of.Totals = map[string]float64{"rounds": float64(last.Round), "time_s": last.TimeS}
		for i := range results.RoundColumns {
			if c := &results.RoundColumns[i]; c.Kind == results.CostColumn {
				of.Totals[c.Name] = c.Get(&sum).Real()
			}
		}
		r.Runs = append(r.Runs, of)
	}
}
