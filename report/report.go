package report

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"time"

	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// Report is what the page shows, as its script reads it. Numbers that are not known
// are null.
type Report struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	State       rundir.State     `json:"state"`
	Expected    int              `json:"expected"` // runs that the scenario comes to
	Made        Made             `json:"made"`
	Targets     []Target         `json:"targets"`
	Scenario    string           `json:"scenario"` // resolved, as TOML
	Quantities  []plots.Quantity `json:"quantities"`
	Experiments []Experiment     `json:"experiments"`
	Runs        []Run            `json:"runs"`
	Columns     Columns          `json:"columns"`
	Shown       int              `json:"shown"`   // rows of rounds in Columns
	Rows        int              `json:"rows"`    // rows of rounds that there are
	Devices     bool             `json:"devices"` // there are rows by device, and Columns has what they tell
	Causes      []string         `json:"causes"`  // what the numbers in column cause mean
	Parts       []string         `json:"parts"`   // what the parts of a round's path are called, as in Columns after cause
	Tables      []Table          `json:"tables"`
}

// Target is a results.Target.
type Target struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Text   string  `json:"text"` // in words
}

// Made says what made the results.
type Made struct {
	Version    string          `json:"version"`
	Go         string          `json:"go"`
	Platform   rundir.Platform `json:"platform"`
	Command    []string        `json:"command"`
	Data       string          `json:"data"`
	Seeds      []string        `json:"seeds"` // in decimal: a script's numbers do not hold 64 bits
	ResultHash results.Hash    `json:"result_hash"`
	Started    *time.Time      `json:"started"`
	TookS      results.Number  `json:"took_s"` // of the real clock
	EventsPerS results.Number  `json:"events_per_s"`
	StepsPerS  results.Number  `json:"steps_per_s"`
	PeakBytes  int64           `json:"peak_bytes"` // 0: not known
}

// Run is a run without its rounds, which are rows First to First+Count-1 of the
// columns.
type Run struct {
	ID         string         `json:"id"`
	Experiment int            `json:"experiment"`
	Panel      int            `json:"panel"`
	Line       int            `json:"line"`
	Method     string         `json:"method"`
	Algorithm  string         `json:"algorithm"`
	Seed       uint64         `json:"seed,string"`
	Status     results.Status `json:"status"`
	Reason     string         `json:"reason"`
	Tuned      string         `json:"tuned"`
	Optimum    results.Number `json:"optimum"`
	OptimumGap results.Number `json:"optimum_gap"`
	EventHash  results.Hash   `json:"event_hash"`
	ModelHash  results.Hash   `json:"model_hash"`
	First      int            `json:"first"`
	Count      int            `json:"count"`
	Totals     Totals         `json:"totals"`
	Stragglers *Stragglers    `json:"stragglers"` // null without rows by device
}

// Totals are sums over the rounds of a run.
type Totals struct {
	Rounds       int            `json:"rounds"`
	TimeS        results.Number `json:"time_s"`
	Participants int            `json:"participants"`
	Dropped      int            `json:"dropped"`
	Late         int            `json:"late"`
	FLOPs        results.Number `json:"flops"`
	BytesDown    results.Number `json:"bytes_down"`
	BytesUp      results.Number `json:"bytes_up"`
	EnergyJ      results.Number `json:"energy_j"`
}

// Read reads the report of a run directory. A directory whose run goes on, or did
// not come to an end, has the report of all that was made until now, see
// [rundir.ReadLive].
func Read(dir string) (*Report, error) {
	found, err := rundir.ReadLive(dir)
	if err != nil {
		return nil, err
	}
	return build(dir, &found.Results)
}

// build makes the report of results, which are those in dir.
func build(dir string, found *rundir.Results) (*Report, error) {
	scenario, err := scenarios.ParseRecorded(dir, found.Scenario)
	if err != nil {
		return nil, err
	}
	m := &found.Manifest
	r := &Report{
		Name: scenario.Name, Description: scenario.Description, State: m.State,
		Made: newMade(m), Targets: []Target{}, Scenario: string(found.Scenario),
		Experiments: []Experiment{}, Runs: []Run{}, Tables: []Table{},
	}
	for _, t := range m.Targets {
		r.Targets = append(r.Targets, Target{t.Metric, t.Value, t.Text(len(found.Runs) > 0 && found.Runs[0].Real)})
	}
	for i := range scenario.Experiments {
		for j := range scenario.Experiments[i].Jobs {
			r.Expected += len(scenario.Experiments[i].Jobs[j].Seeds)
		}
	}
	r.addQuantities(found.Runs)
	r.addRuns(found.Runs)
	if err := r.addExperiments(scenario, found.Runs, m.Targets); err != nil {
		return nil, err
	}
	told, err := attribute(dir, found)
	if err != nil {
		return nil, err
	}
	r.pack(found.Runs, told)
	return r, r.addTables(dir, m.Tables)
}

func newMade(m *rundir.Manifest) Made {
	made := Made{
		Version: m.Version, Go: m.Go, Platform: m.Platform, Command: nonNil(m.Command), Data: m.Data,
		Seeds: []string{}, ResultHash: m.ResultHash, TookS: unknown, EventsPerS: unknown, StepsPerS: unknown,
	}
	for _, seed := range m.Seeds {
		made.Seeds = append(made.Seeds, strconv.FormatUint(seed, 10))
	}
	if c := m.Clock; c != nil {
		made.Started, made.PeakBytes = &c.Started, c.PeakMemoryBytes
		if c.Finished != nil {
			made.TookS = results.Number(c.Finished.Sub(c.Started).Seconds())
			made.EventsPerS, made.StepsPerS = results.Number(c.EventsPerS), results.Number(c.StepsPerS)
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
		of := Run{
			ID: run.ID, Method: run.Method, Algorithm: run.Algorithm, Seed: run.Seed, Status: run.Status, Reason: run.Reason,
			Tuned: settingsText(run.Tuned), Optimum: results.Number(run.Optimum), OptimumGap: results.Number(run.OptimumGap),
			EventHash: results.Hash(run.EventHash), ModelHash: results.Hash(run.ModelHash),
		}
		t := &of.Totals
		for j := range run.Rounds {
			x := &run.Rounds[j]
			t.Rounds, t.TimeS = x.Round, results.Number(x.TimeS)
			t.Participants += x.Participants
			t.Dropped += x.Dropped
			t.Late += x.Late
			t.FLOPs += results.Number(x.FLOPs)
			t.BytesDown += results.Number(x.BytesDown)
			t.BytesUp += results.Number(x.BytesUp)
			t.EnergyJ += results.Number(x.EnergyJ)
		}
		r.Runs = append(r.Runs, of)
	}
}

// Encode writes the report as JSON.
func Encode(w io.Writer, r *Report) error { return json.NewEncoder(w).Encode(r) }
