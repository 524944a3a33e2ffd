package calibration

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// Errors are the errors of predicted times of a part of attempts, relative to the measured times.
type Errors struct {
	Part     string  `json:"part"`
	Attempts int     `json:"attempts"`
	Bias     float64 `json:"bias"` // mean
	Mean     float64 `json:"mape"` // mean absolute
	P50      float64 `json:"p50"`  // absolute
	P95      float64 `json:"p95"`
}

// parts lists the parts of an attempt that are compared.
var parts = []string{"download", "compute", "upload", "attempt"}

// errorsOf collects relative errors by part.
type errorsOf [4][]float64

// add compares the attempts of training with their predictions.
func (e *errorsOf) add(c *index, a *attemptlog.Attempt) {
	if a.Kind != attemptlog.Train {
		return
	}
	measured, predicted := c.timesOf(a)
	for k := range parts {
		if x := predicted[k]/measured[k] - 1; measured[k] > 0 && !math.IsNaN(x) {
			e[k] = append(e[k], x)
		}
	}
}

// list returns the errors of each part that has any.
func (e *errorsOf) list() []Errors {
	var all []Errors
	for k, part := range parts {
		values := e[k]
		if len(values) == 0 {
			continue
		}
		out := Errors{Part: part, Attempts: len(values)}
		sizes := make([]float64, len(values))
		for i, x := range values {
			out.Bias += x / float64(len(values))
			sizes[i] = math.Abs(x)
			out.Mean += sizes[i] / float64(len(values))
		}
		out.P50, out.P95 = orderstat.Quantile(sizes, 0.5), orderstat.Quantile(sizes, 0.95)
		all = append(all, out)
	}
	return all
}

// InSample returns the errors of a calibration on the log that it was fitted to, or on another.
func (c *Calibration) InSample(log *attemptlog.Log) []Errors {
	e, x := errorsOf{}, c.index()
	for _, r := range log.Runs {
		for i := range r.Attempts {
			e.add(x, &r.Attempts[i])
		}
	}
	return e.list()
}

// What HoldOut leaves out at a time.
const (
	ByRounds = "rounds"
	ByRuns   = "runs"
)

// mostFolds is the largest number of fits of HoldOut by rounds.
const mostFolds = 20

// HoldOut returns the errors on attempts that were not fitted: each run is predicted by a fit to
// the others, or each round by a fit to the other rounds. More than 20 rounds make 20 parts: round
// k of the log is in part k mod 20.
func (c *Calibration) HoldOut(log *attemptlog.Log, by string) (*HeldOut, error) {
	t := newTable(log)
	folds, fold := len(t.runs), func(round int) int { return t.rounds[round].run }
	if by == ByRounds {
		folds = min(len(t.rounds), mostFolds)
		fold = func(round int) int { return round % folds }
	}
	if folds < 2 {
		return nil, fmt.Errorf("%w: holding out %s needs at least two", ErrTooShort, by)
	}
	out, e := &HeldOut{By: by}, errorsOf{}
	for k := range folds {
		kept, held := t.without(func(round int) bool { return fold(round) == k })
		part, err := Fit(kept, Options{Resamples: -1})
		if err != nil {
			return nil, err
		}
		x := part.index()
		for _, a := range held {
			e.add(x, a)
		}
		if terms := part.lost(c); len(terms) > 0 && by == ByRuns {
			out.Lost = append(out.Lost,
				fmt.Sprintf("without run %s the log does not identify %s", t.runs[k].Name, strings.Join(terms, ", ")))
		}
	}
	out.Errors = e.list()
	return out, nil
}

// lost returns the terms that a calibration does not identify, although the whole one does.
func (c *Calibration) lost(whole *Calibration) (terms []string) {
	for _, m := range c.Missing {
		if !slices.ContainsFunc(whole.Missing, func(w Missing) bool { return w.Term == m.Term }) && predicts[m.Term] {
			terms = append(terms, m.Term)
		}
	}
	return slices.Compact(terms)
}

// predicts has the terms that predictions of attempts use.
var predicts = map[string]bool{
	"task_overhead_s": true, "step_overhead_s": true, "traffic_s_per_gb": true, "gflops": true, "down_mbps": true,
	"up_mbps": true, "rtt_ms": true, "wire_factor": true, "burst_bytes": true, "client_poll_s": true,
	"server_poll_s": true, "launch_poll_s": true, "launch_s": true, "launch_gflop": true,
}

// without returns a log of the attempts of the rounds that are not left out, and the others.
func (t *table) without(out func(round int) bool) (kept *attemptlog.Log, held []*attemptlog.Attempt) {
	kept = &attemptlog.Log{}
	run := -1
	for i := range t.rows {
		r := &t.rows[i]
		if out(r.round) {
			held = append(held, r.Attempt)
			continue
		}
		if r.run != run {
			run = r.run
			kept.Runs = append(kept.Runs, emptied(t.runs[run]))
		}
		last := kept.Runs[len(kept.Runs)-1]
		last.Attempts = append(last.Attempts, *r.Attempt)
	}
	return kept, held
}
