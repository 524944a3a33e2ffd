// Package whatif says what changes of a real federation would bring. The model that a calibration fits to its logs
// runs with the settings of each change under the same seeds, beside the unchanged one and what was measured.
//
// It must not know how a model is fitted, or where results go.
package whatif

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/rooms/measure/prediction"
	"fedsim/internal/tools/certainty"
	"fedsim/mtl"
	"fedsim/results"
)

// ErrNotIdentified reports a change whose times the logs do not tell.
var ErrNotIdentified = errors.New("the logs do not identify what it needs")

// Study is a calibrated federation, of which changes are asked.
type Study struct {
	Log         *attemptlog.Log
	Calibration *calibration.Calibration
	Seeds       int                // under which each change runs: 1 to Seeds
	Compute     experiment.Options // how runs are computed
	Permit      func(*scenario.Scenario) error
}

// row is the runs of a change, by seed.
type row struct {
	times     []certainty.Bounds // virtual s to the last round
	responses float64            // that the server used, mean over seeds
	rounds    float64
	events    []uint64 // hashes
	sizes     *attemptlog.Run
	beyond    []string // sizes and work beyond the logs
}

// Compare runs the setting of the run with most attempts as it is, and with each change. An error of a change whose
// times the logs do not tell wraps ErrNotIdentified, and names the terms.
func (s *Study) Compare(ctx context.Context, changes []Change) (r *Report, err error) {
	test := certainty.Test{Confidence: confidence}
	if least := test.Compare(make([][]certainty.Bounds, len(changes)+1), true).Next; s.Seeds < least {
		return nil, config.Problem{Key: "--seeds", Value: s.Seeds,
			Want: fmt.Sprintf("must be at least %d: fewer can never make the order of %d rows certain", least,
				len(changes)+1)}
	}
	dir, err := os.MkdirTemp("", "fedsim-whatif-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dir = filepath.Join(dir, "calibrated")
	if err := s.Calibration.Write(dir, s.Log, calibration.Results{}, false); err != nil {
		return nil, err
	}
	var rows []*row
	var unknown []error
	for _, c := range append([]Change{{Label: Unchanged}}, changes...) {
		p, err := s.run(ctx, filepath.Join(dir, calibration.ScenarioFile), &c, rows)
		if errors.Is(err, ErrNotIdentified) && rows != nil {
			unknown = append(unknown, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, p)
	}
	if unknown != nil {
		return nil, errors.Join(unknown...)
	}
	r = &Report{Seeds: s.Seeds, Run: calibration.Base(s.Log).Name}
	for _, run := range s.Log.Runs {
		models, _, err := prediction.NewModels(dir, s.Calibration, run)
		if err != nil {
			return nil, err
		}
		checked, err := prediction.Check(ctx, run, models)
		if err != nil {
			return nil, err
		}
		r.Replayed = append(r.Replayed, Replay{run.Name, checked.MeasuredS, checked.PredictedS,
			checked.Calibrated.Makespan})
	}
	r.fill(changes, rows)
	return r, nil
}

// run runs a change under each seed, after the unchanged setting.
func (s *Study) run(ctx context.Context, file string, change *Change, before []*row) (*row, error) {
	base := *calibration.Base(s.Log)
	var seeds, set []string
	for seed := range s.Seeds {
		seeds = append(seeds, fmt.Sprint(seed+1))
	}
	for i, a := range change.read {
		if len(a.Path) == 4 && a.Path[0] == "methods" && a.Path[2] == "options" { // maybe of another method
			base.Settings = append(slices.Clip(base.Settings), a)
		} else {
			set = append(set, change.Set[i])
		}
	}
	set = append(set, "run.seeds=["+strings.Join(seeds, ",")+"]", "run.devices=true")
	sc, err := scenario.Parse(file, []byte(s.Calibration.Scenario("whatif", &base)), set)
	if err != nil {
		return nil, err
	}
	if len(sc.Experiments) != 1 || len(sc.Experiments[0].Jobs) != 1 {
		return nil, config.Problem{Key: "--set", Value: strings.Join(change.Set, ","),
			Want: "must be one setting of one method, without a sweep: give each value a --set of its own"}
	}
	if err := s.Permit(sc); err != nil {
		return nil, err
	}
	rec := &recorder{runs: make([]recorded, s.Seeds)}
	o := s.Compute
	o.Recorder = rec
	if err := experiment.Run(ctx, sc.Experiments, o); err != nil {
		return nil, err
	}
	spec := &sc.Experiments[0].Jobs[0].Candidates[0]
	out := &row{sizes: rec.runs[0].sizes(spec, base.Clients())}
	var missing []string
	if out.beyond, missing = s.Calibration.Needs(out.sizes, append(before, out)[0].sizes); missing != nil {
		return nil, fmt.Errorf("%s: %w: %s; remedies: docs/real.md#the-model", change.text(), ErrNotIdentified,
			strings.Join(slices.Concat(missing, out.beyond), "; "))
	}
	for i := range rec.runs {
		run := &rec.runs[i].Run
		out.events = append(out.events, run.EventHash)
		if run.Status != results.Done || len(run.Rounds) == 0 {
			out.times = append(out.times, certainty.Bounds{Low: math.Inf(1), High: math.Inf(1)})
			continue
		}
		last := &run.Rounds[len(run.Rounds)-1]
		out.times = append(out.times, certainty.Bounds{Low: last.TimeS, High: last.TimeS})
		out.rounds += float64(last.Round)
		for k := range run.Rounds {
			out.responses += float64(run.Rounds[k].Participants)
		}
	}
	out.rounds, out.responses = out.rounds/float64(s.Seeds), out.responses/float64(s.Seeds)
	return out, nil
}

func (c *Change) text() string {
	if c.Set == nil {
		return "the setting of the log"
	}
	return "--set " + strings.Join(c.Set, ",")
}

// recorder keeps the runs of a change by seed.
type recorder struct {
	mu   sync.Mutex
	runs []recorded
}

// recorded is a run, with the rows by device that have one response to one message.
type recorded struct {
	results.Run
	rows []results.DeviceRow
}

// Begin returns the record of a run.
func (r *recorder) Begin(index int, run results.Run) (results.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[index].Run = run
	return &r.runs[index], nil
}

// Done reports that no run was recorded before.
func (r *recorder) Done(string) bool { return false }

// Round keeps nothing: End has the rounds.
func (r *recorded) Round(*results.Round) error { return nil }

// Devices keeps rows.
func (r *recorded) Devices(rows []results.DeviceRow) error {
	for _, d := range rows {
		if d.Attempts == 1 && d.Responses == 1 {
			r.rows = append(r.rows, d)
		}
	}
	return nil
}

// Model keeps nothing.
func (r *recorded) Model(int, int, func(int) []float64) error { return nil }

// State has nothing: there are no checkpoints.
func (r *recorded) State(*results.Coder) {}

// End keeps the result.
func (r *recorded) End(run results.Run) error {
	r.Run = run
	return nil
}

// sizes returns the messages and the work of a run as attempts of clients, of which these are the names.
func (r *recorded) sizes(spec *scenario.RunSpec, names []string) *attemptlog.Run {
	set, nan := &spec.Settings, math.NaN()
	if f := set.Fleet.Assignment; len(f) > 0 {
		names = f
	}
	rows, _ := set.Data.External.Rows.Of(set.Data.External.Clients)
	work := spec.Describe(mtl.Shape{Features: set.Data.External.Features}).Work
	run := &attemptlog.Run{}
	for _, d := range r.rows {
		steps, _ := work.Overheads(int(rows[d.Device]), int(d.Steps))
		flops := d.FLOPs * set.Devices.FLOPsScale
		run.Attempts = append(run.Attempts, attemptlog.Attempt{Kind: attemptlog.Train,
			Client: names[d.Device%len(names)], BytesDown: d.BytesDown, BytesUp: d.BytesUp, FLOPs: flops,
			Examples: flops, Epochs: 1, Steps: float64(steps), Batch: nan, TrafficBytes: nan,
			DownMbps: nan, UpMbps: nan, GFLOPS: nan})
	}
	return run
}
