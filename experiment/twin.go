package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/rooms/ledger"
	"fedsim/results"
)

// Twin is a method at a point of an experiment, over its seeds, beside closed forms of what its runs measure.
type Twin struct {
	Experiment, Method string
	Point              []results.Setting
	Rows               []TwinRow
}

// TwinRow is a quantity beside its closed form.
type TwinRow struct {
	Quantity  string
	Form      float64 // NaN: there is none
	Simulated float64 // NaN: it was not measured
	Error     float64 // standard error of Simulated
	Holds     string  // Exact, Asymptotic, Approximate with a reason, or NoForm with the key that is it
}

// The values of TwinRow.Holds, and the beginnings of them.
const (
	Exact       = "exact"
	Asymptotic  = "asymptotic"
	Approximate = "approximate: "
	NoForm      = "no form: "
)

// Row returns the row of a quantity.
func (t *Twin) Row(quantity string) (row TwinRow, ok bool) {
	i := slices.IndexFunc(t.Rows, func(r TwinRow) bool { return r.Quantity == quantity })
	if i < 0 {
		return row, false
	}
	return t.Rows[i], true
}

// Z returns by how many standard errors the simulation is above the form; 0: by a millionth of it at most.
func (r *TwinRow) Z() float64 {
	d := r.Simulated - r.Form
	if math.Abs(d) <= 1e-6*math.Abs(r.Form) {
		return 0
	}
	return d / r.Error
}

// mostZ is the largest |z| of an exact form.
const mostZ = 4

// Broken reports whether the simulation contradicts an exact form.
func (r *TwinRow) Broken() bool { return r.Holds == Exact && math.Abs(r.Z()) > mostZ }

// Twins runs expanded experiments without learning, and compares each of their jobs with closed forms.
func Twins(ctx context.Context, experiments []scenario.Experiment, o Options) ([]Twin, error) {
	var mu sync.Mutex
	tallies := map[string]*tally{} // by run
	o.Journal = func(run *scenario.RunSpec, devices int) federation.Journal {
		t := newTally(run, devices)
		mu.Lock()
		defer mu.Unlock()
		tallies[run.ID] = t
		return t
	}
	return compareJobs(ctx, experiments, o, func(r *runner, j *job, runs []results.Run) (*Twin, error) {
		t := &Twin{Experiment: j.Experiment, Method: j.Method, Point: j.Point}
		for i := range runs {
			run := j.final(&j.winner, i)
			of, err := r.formsOf(&run)
			if err != nil {
				return nil, err
			}
			m := measurement{tally: tallies[run.ID], rounds: runs[i].Rounds,
				continuous: run.Settings.Federation.Traits().Continuous}
			if len(m.rounds) < 2 {
				return nil, fmt.Errorf("it %s before its first round (%s)", runs[i].Status, runs[i].Reason)
			}
			t.add(of.measured(&m), len(runs))
		}
		for i := range t.Rows {
			t.Rows[i].Error = math.Sqrt(t.Rows[i].Error)
		}
		return t, nil
	})
}

// add adds the rows of a seed of so many, with the squares of errors.
func (t *Twin) add(rows []TwinRow, seeds int) {
	share := 1 / float64(seeds)
	for _, r := range rows {
		i := slices.IndexFunc(t.Rows, func(x TwinRow) bool { return x.Quantity == r.Quantity })
		if i < 0 {
			i = len(t.Rows)
			t.Rows = append(t.Rows, TwinRow{Quantity: r.Quantity, Holds: r.Holds})
		}
		x := &t.Rows[i]
		x.Form += float64(share * r.Form)
		x.Simulated += float64(share * r.Simulated)
		x.Error += float64(r.Error * r.Error * share * share)
		if r.Holds != Exact {
			x.Holds = r.Holds
		}
	}
}

// Forms returns the closed forms of the jobs of expanded experiments under their first seeds, without any run.
func Forms(ctx context.Context, experiments []scenario.Experiment) ([]Twin, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, Options{}, 0)
	var all []Twin
	for j := range scenario.Jobs(experiments) {
		run := j.Candidates[0].WithSeed(j.Seeds[0])
		of, err := r.formsOf(&run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", run.ID, err)
		}
		t := Twin{Experiment: run.Experiment, Method: run.Label, Point: run.Point}
		for _, q := range of.quantities {
			t.Rows = append(t.Rows, TwinRow{Quantity: q.name, Form: q.form, Simulated: math.NaN(), Error: math.NaN(),
				Holds: q.holds})
		}
		all = append(all, t)
	}
	return all, nil
}

// tally counts what rows by device say, by round and class.
type tally struct {
	*ledger.Ledger
	class   []uint8 // by device; nil: there is one
	rounds  []talliedRound
	emptied []int // by device, the round in which its battery was empty; 0: in none
}

type talliedRound struct {
	attempts, uplinkS float64
	of                []talliedClass
}

type talliedClass struct{ updates, age, busyS float64 }

func newTally(run *scenario.RunSpec, devices int) *tally {
	t, classes := &tally{emptied: make([]int, devices)}, 1
	if fleet := run.Settings.Fleet.Fleet(); fleet != nil {
		machines, _ := fleet.Assemble(devices, nil, run.System) // classes do not depend on data
		t.class, classes = machines.Class, len(fleet.Classes)
	}
	t.Ledger = ledger.New(devices, func(rows []results.DeviceRow) error {
		x := talliedRound{of: make([]talliedClass, classes)}
		for i := range rows {
			r, class := &rows[i], 0
			if t.class != nil {
				class = int(t.class[i])
			}
			x.attempts += float64(r.Attempts)
			x.uplinkS += r.UplinkS
			of := &x.of[class]
			if of.busyS += r.DownlinkS + r.ComputeS + r.UplinkS; r.Taken > 0 {
				of.updates += float64(r.Taken)
				of.age += float64(r.Staleness * float64(r.Taken))
			}
			if r.DepletedS > 0 && t.emptied[i] == 0 {
				t.emptied[i] = r.Round
			}
		}
		t.rounds = append(t.rounds, x)
		return nil
	})
	return t
}

// measurement is what a run has measured.
type measurement struct {
	*tally
	rounds     []results.Round // from round 0 on
	continuous bool
}

// seconds returns the length of a round.
func (m *measurement) seconds(h int) float64 { return m.rounds[h].TimeS - m.rounds[h-1].TimeS }

// batches is the number of batches of a run without rounds, of which the first share is left out.
const batches, leftOut = 40, 0.02

// ratio estimates the quotient of the means of two values of rounds, and its standard error: from batches without
// rounds, where values of neighbors depend on each other, from all rounds otherwise.
func (m *measurement) ratio(of func(h int) (a, b float64)) (value, err float64) {
	first, each, n := 1, 1, len(m.rounds)-1
	if m.continuous {
		if first += int(leftOut * float64(n)); n >= 2*batches {
			each = (n + 1 - first) / batches
		}
		n = (n + 1 - first) / each
	}
	as, bs := make([]float64, n), make([]float64, n)
	sumA, sumB := 0.0, 0.0
	for k := range n {
		for h := first + k*each; h < first+(k+1)*each; h++ {
			a, b := of(h)
			as[k], bs[k] = as[k]+a, bs[k]+b
		}
		sumA, sumB = sumA+as[k], sumB+bs[k]
	}
	value = sumA / sumB
	for k := range n {
		d := as[k] - float64(value*bs[k])
		err += float64(d * d)
	}
	return value, math.Sqrt(err*float64(n)/float64(max(1, n-1))) / sumB
}

// measured returns the quantities of a run beside their forms.
func (f *forms) measured(m *measurement) (rows []TwinRow) {
	lasted := m.rounds[len(m.rounds)-1].TimeS
	for _, q := range f.quantities {
		row := TwinRow{Quantity: q.name, Form: q.form, Holds: q.holds, Simulated: math.NaN(), Error: math.NaN()}
		if q.measure != nil {
			row.Simulated, row.Error = q.measure(m)
		} else if q.of != nil {
			row.Simulated, row.Error = m.ratio(func(h int) (a, b float64) { return q.of(m, h) })
		}
		if q.spread > 0 { // rare events that did not happen
			row.Error = max(row.Error, math.Sqrt(q.spread/float64(len(m.rounds)-1)))
		}
		if lasted > f.endurance && q.measure == nil && row.Holds == Exact {
			row.Form, row.Holds = math.NaN(), NoForm+"devices.battery.wh"
		}
		rows = append(rows, row)
	}
	return rows
}

// depletion measures the mean round in which batteries were empty.
func depletion(m *measurement) (mean, err float64) {
	n, square := 0.0, 0.0
	for _, h := range m.emptied {
		if h == 0 {
			return math.NaN(), math.NaN() // not all are
		}
		n++
		mean, square = mean+float64(h), square+float64(h*h)
	}
	mean /= n
	return mean, math.Sqrt((square/n - float64(mean*mean)) / max(1, n-1))
}
