package report

import (
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/internal/tools/plainjson"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Report is the data of the page. Unknown numbers are null.
type Report struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	State       rundir.State     `json:"state"`
	Expected    int              `json:"expected"` // number of runs of the scenario
	Absent      []string         `json:"absent"`   // missing from a partial merge
	Made        provenance       `json:"made"`
	Targets     []target         `json:"targets"`
	Scenario    string           `json:"scenario"` // resolved, as TOML
	Quantities  []plots.Quantity `json:"quantities"`
	Messages    []string         `json:"messages"` // results.Message, as in the terminal
	Experiments []experimentPage `json:"experiments"`
	Runs        []reportRun      `json:"runs"`
	Columns     packedColumns    `json:"columns"`
	Shown       int              `json:"shown"`   // rows of rounds in Columns
	Rows        int              `json:"rows"`    // rows of rounds in the run directory
	Devices     bool             `json:"devices"` // the run directory has rows by device; Columns includes them
	Causes      []explain.Cause  `json:"causes"`  // values of column cause, by index
	Parts       []string         `json:"parts"`   // names of the parts of a path, in the order of the columns path_0, path_1, ...
	Tables      []errorTable     `json:"tables"`
	Plan        any              `json:"plan"` // of the runs of a plan: its state, as in docs/json.md; else null
}

type target struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Text   string  `json:"text"` // as in tables
}

// provenance describes the program, machine and command of a run.
type provenance struct {
	Version    string          `json:"version"`
	Go         string          `json:"go"`
	Platform   rundir.Platform `json:"platform"`
	Command    []string        `json:"command"`
	Data       string          `json:"data"`
	Seeds      []string        `json:"seeds"` // decimal: JavaScript numbers have fewer than 64 bits
	ResultHash results.Hash    `json:"result_hash"`
	Started    *time.Time      `json:"started"`
	TookS      float64         `json:"took_s"` // real time
	EventsPerS float64         `json:"events_per_s"`
	PeakBytes  int64           `json:"peak_bytes"` // 0: unknown
}

// reportRun is a run without its rounds, which are rows First to First+Count-1 of the
// columns.
type reportRun struct {
	ID         string             `json:"id"`
	Experiment int                `json:"experiment"`
	Panel      int                `json:"panel"`
	Line       int                `json:"line"`
	Method     string             `json:"method"`
	Algorithm  string             `json:"algorithm"`
	Seed       uint64             `json:"seed,string"`
	Status     results.Status     `json:"status"`
	Reason     string             `json:"reason"`
	Ended      string             `json:"ended"` // plots.Ended
	Tuned      string             `json:"tuned"`
	Optimum    float64            `json:"optimum"`
	OptimumGap float64            `json:"optimum_gap"`
	EventHash  results.Hash       `json:"event_hash"`
	ModelHash  results.Hash       `json:"model_hash"`
	First      int                `json:"first"`
	Count      int                `json:"count"`
	Totals     map[string]float64 `json:"totals"`     // rounds, time_s, and each cost of rounds.csv
	Stragglers *attribution       `json:"stragglers"` // null without rows by device
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
	m := &found.Manifest
	r := &Report{
		Name: scenario.Name, Description: scenario.Description, State: m.State,
		Absent: m.Absent, Made: newMade(m), Scenario: string(found.Scenario),
	}
	for _, t := range m.Targets {
		r.Targets = append(r.Targets, target{t.Metric, t.Value, t.Text(found.Runs...)})
	}
	for _, e := range scenario.Experiments {
		for _, j := range e.Jobs {
			r.Expected += len(j.Seeds)
		}
	}
	if m.HasClients() || m.HasDevices() {
		if err := rundir.AddClients(dir, found.Runs); err != nil {
			return nil, err
		}
	}
	r.addQuantities(found.Runs)
	r.addRuns(found.Runs)
	if err := r.addExperiments(scenario, found.Runs, m.Targets); err != nil {
		return nil, err
	}
	attributions, err := attribute(dir, found)
	if err != nil {
		return nil, err
	}
	r.pack(found.Runs, attributions)
	err = r.addTables(dir, m.Tables)
	r.addErrors(found.Runs)
	return r, err
}

func newMade(m *rundir.Manifest) provenance {
	made := provenance{
		Version: m.Version, Go: m.Go, Platform: m.Platform, Command: m.Command, Data: m.Data,
		ResultHash: m.ResultHash, TookS: math.NaN(), EventsPerS: math.NaN(),
	}
	for _, seed := range m.Seeds {
		made.Seeds = append(made.Seeds, strconv.FormatUint(seed, 10))
	}
	if c := m.Clock; c != nil {
		made.Started, made.PeakBytes = &c.Started, c.PeakMemoryBytes
		if c.Finished != nil {
			made.TookS = c.Finished.Sub(c.Started).Seconds()
			events := 0.0
			for i := range m.Runs {
				events += float64(m.Runs[i].Events)
			}
			if made.TookS > 0 {
				made.EventsPerS = events / made.TookS
			}
		}
	}
	return made
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
			ID: run.ID, Method: run.Method, Algorithm: run.Algorithm, Seed: run.Seed, Status: run.Status, Reason: run.Reason, Ended: plots.Ended(run),
			Tuned: results.SettingsText(run.Tuned), Optimum: run.Optimum, OptimumGap: run.OptimumGap,
			EventHash: results.Hash(run.EventHash), ModelHash: results.Hash(run.ModelHash),
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

// Encode writes the report as JSON that may stand in a script element.
func Encode(w io.Writer, r *Report) error { return plainjson.Embed(w, r) }
