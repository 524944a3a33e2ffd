package prediction

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"fedsim/internal/attemptlog"
)

// Report is how well runs were predicted.
type Report struct {
	Runs    []*Checked `json:"runs"`
	Models  []Overall  `json:"models"`
	Repeats []Repeated `json:"repeats"`
	// Tau is Kendall's, between measured and predicted makespans; NaN for fewer than two runs.
	Tau float64 `json:"tau"`
	// Disordered are the pairs of runs whose makespans have the wrong order.
	Disordered [][2]string `json:"wrong_order"`
}

// Overall is the errors of a model over all runs, each run counting once.
type Overall struct {
	Model    string  `json:"model"`    // model, at speed, or nominal
	Makespan Extreme `json:"makespan"` // of makespans, with sign
	MAPE     Extreme `json:"mape"`     // of attempts
	P95      Extreme `json:"p95"`      // of attempts
}

// Extreme is the mean of absolute values, and the value of the largest size.
type Extreme struct {
	Mean  float64 `json:"mean"`
	Worst float64 `json:"worst"`
}

// Repeated is what no model of runs that repeat each other can be better than.
type Repeated struct {
	Runs     []string `json:"runs"`
	Floor    Extreme  `json:"floor"`    // of makespans: each run predicted by the mean of the others
	Response Spread   `json:"response"` // likewise of the attempts that all runs have
	Model    Extreme  `json:"model"`    // of makespans, by the calibrated model
}

// NewReport returns the report of runs and their predictions, which have the same order.
func NewReport(runs []*attemptlog.Run, all []*Checked) *Report {
	r := &Report{Runs: all}
	r.overall("model", func(c *Checked) *Errors { return &c.Calibrated })
	r.overall("at speed", func(c *Checked) *Errors { return &c.AtSpeed })
	r.overall("nominal", func(c *Checked) *Errors { return c.Nominal })
	for _, set := range Repeats(runs) {
		var repeated Repeated
		var played []*Played
		var model []float64
		for _, i := range set {
			repeated.Runs = append(repeated.Runs, all[i].Name)
			played = append(played, all[i].Measured)
			model = append(model, all[i].Calibrated.Makespan)
		}
		makespan, response := Floor(played)
		repeated.Floor, repeated.Response, repeated.Model = extreme(makespan), response, extreme(model)
		r.Repeats = append(r.Repeats, repeated)
	}
	r.rank()
	return r
}

// overall adds the errors of a model, unless no run has them.
func (r *Report) overall(name string, of func(*Checked) *Errors) {
	var makespan, mape, p95 []float64
	for _, c := range r.Runs {
		if e := of(c); e != nil {
			makespan, mape, p95 = append(makespan, e.Makespan), append(mape, e.Response.MAPE), append(p95, e.Response.P95)
		}
	}
	if len(makespan) > 0 {
		r.Models = append(r.Models, Overall{name, extreme(makespan), extreme(mape), extreme(p95)})
	}
}

// extreme returns the extreme of errors; those that are NaN do not count.
func extreme(errors []float64) Extreme {
	x := Extreme{Mean: spread(errors).MAPE}
	for _, e := range errors {
		if math.Abs(e) > math.Abs(x.Worst) {
			x.Worst = e
		}
	}
	return x
}

// rank compares the order of the runs by makespan.
func (r *Report) rank() {
	r.Tau = math.NaN()
	if len(r.Runs) < 2 {
		return
	}
	var m, p []float64
	for i, c := range r.Runs {
		m, p = append(m, c.MeasuredS), append(p, c.PredictedS)
		for _, before := range r.Runs[:i] {
			if (before.MeasuredS < c.MeasuredS) != (before.PredictedS < c.PredictedS) {
				r.Disordered = append(r.Disordered, [2]string{before.Name, c.Name})
			}
		}
	}
	r.Tau = stat.Kendall(m, p, nil)
}
