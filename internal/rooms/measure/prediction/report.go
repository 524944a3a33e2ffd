package prediction

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"fedsim/internal/rooms/measure/attemptlog"
)

// Report is how well runs were predicted.
type Report struct {
	Runs    []*Checked `json:"runs"`
	Models  []Overall  `json:"models"`
	Repeats []Repeated `json:"repeats"`
	Ranked  int        `json:"ranked"` // configurations: runs, of repetitions the first
	// Tau is Kendall's, between the measured and the predicted makespans of configurations; NaN for fewer than two.
	Tau float64 `json:"tau"`
	// Disordered are the pairs of configurations whose makespans have the wrong order.
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
	sets := Repeats(runs)
	for _, set := range sets {
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
	r.rank(sets)
	return r
}

// overall adds the errors of a model, unless no run has them.
func (r *Report) overall(name string, of func(*Checked) *Errors) {
	var makespan, mape, p95 []float64
	for _, c := range r.Runs {
		if e := of(c); e != nil {
			makespan, mape = append(makespan, e.Makespan), append(mape, e.Response.MAPE)
			p95 = append(p95, e.Response.P95)
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

// rank compares the order of the configurations by makespan, the mean of repetitions.
func (r *Report) rank(sets [][]int) {
	repeats := map[int]bool{} // all but the first of a set
	means := make([][2]float64, len(r.Runs))
	for i, c := range r.Runs {
		means[i] = [2]float64{c.MeasuredS, c.PredictedS}
	}
	for _, set := range sets {
		sum := [2]float64{}
		for k, i := range set {
			repeats[i] = k > 0
			sum[0], sum[1] = sum[0]+means[i][0], sum[1]+means[i][1]
		}
		n := float64(len(set))
		means[set[0]] = [2]float64{sum[0] / n, sum[1] / n}
	}
	var m, p []float64
	for i, c := range r.Runs {
		if repeats[i] {
			continue
		}
		m, p = append(m, means[i][0]), append(p, means[i][1])
		for j, before := range r.Runs[:i] {
			if !repeats[j] && (means[j][0] < means[i][0]) != (means[j][1] < means[i][1]) {
				r.Disordered = append(r.Disordered, [2]string{before.Name, c.Name})
			}
		}
	}
	r.Ranked, r.Tau = len(m), math.NaN()
	if len(m) > 1 {
		r.Tau = stat.Kendall(m, p, nil)
	}
}
