package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/results"
)

// byFolds returns the job, or a job for each of its places if folds of the training rows choose the options: each
// repetition has its own rows, and so its own options.
func (j *job) byFolds(folds int) []job {
	if folds == 0 || len(j.Candidates) == 1 {
		return []job{*j}
	}
	jobs := make([]job, len(j.places))
	for i, at := range j.places {
		one := *j
		one.places, one.folds, one.under = []int{at}, folds, folds
		one.Target = results.Target{Metric: "validation_error"}
		if strings.HasSuffix(j.winner.Settings.Run.Metric, "_clients") {
			one.Target.Metric += "_clients"
		}
		one.Point = append(slices.Clip(j.Grid.Point),
			results.Setting{Key: "seed", Value: strconv.FormatUint(j.Seeds[at], 10)})
		jobs[i] = one
	}
	return jobs
}

// onFold returns a candidate on a fold of its training rows.
func (j *job) onFold(run *scenario.RunSpec, fold int) scenario.RunSpec {
	of := run.WithSeed(j.Seeds[j.places[0]])
	of.ID += fmt.Sprintf("/fold=%d", fold)
	of.Settings.Data.Folds, of.Settings.Data.Fold = j.folds, fold
	of.Settings.Run.ClientMetrics, of.Settings.Run.ClientsEvery = []string{results.ClientError}, 0
	if o, ok := of.Options.(algorithms.Rough); ok {
		of.Options = o.Rough()
	}
	return of
}

// measureFolds runs a candidate on the folds that have not ended. The errors on the held-out rows of all folds
// together decide, so that each training row counts once.
func (r *runner) measureFolds(j *job, run *scenario.RunSpec) (Trial, error) {
	for k := len(j.ended); k < j.folds; k++ {
		trial, err := r.measureUnder(j, j.onFold(run, k), math.Inf(1))
		if err != nil {
			return trial, err
		}
		j.ended = append(j.ended, trial)
		if err := j.seeds.step(); err != nil {
			return trial, err
		}
	}
	all := Trial{Options: run.Tuned}
	for _, trial := range j.ended {
		all.Rounds, all.TimeS = all.Rounds+trial.Rounds, all.TimeS+trial.TimeS
		all.wrong.add(&trial.wrong)
	}
	all.Rounds, all.TimeS = all.Rounds/j.folds, all.TimeS/float64(j.folds)
	all.Last = all.wrong.error(j.Real, strings.HasSuffix(j.Target.Metric, "_clients"))
	all.wrong = wrongRows{}
	return all, nil
}

// forgetFolds drops the rows and problems of the trials of a job.
func (r *runner) forgetFolds(j *job, tried []scenario.RunSpec) {
	for i := range tried {
		for fold := range j.folds {
			run := j.trial(j.onFold(&tried[i], fold))
			r.prepare.forget(&run.Settings)
		}
	}
}

// wrongRows counts the prediction errors on the held-out rows of clients.
type wrongRows struct {
	sum  []float64 // by client: wrong rows, or the sum of squared errors
	rows []int
}

// count returns the errors at the end of a run.
func (w *wrongRows) count(out *learning.Outcome, real bool) {
	for _, m := range out.ClientMetrics {
		if m.Split != "validation" || m.Name != results.ClientError {
			continue
		}
		for i, e := range m.Values {
			n := m.Rows[i]
			switch wrong := e * float64(n); {
			case n == 0:
				w.sum = append(w.sum, 0)
			case real:
				w.sum = append(w.sum, e*wrong)
			default:
				w.sum = append(w.sum, math.Round(wrong))
			}
			w.rows = append(w.rows, int(n))
		}
	}
}

// add adds the errors of other.
func (w *wrongRows) add(other *wrongRows) {
	if w.sum == nil {
		w.sum, w.rows = make([]float64, len(other.sum)), make([]int, len(other.rows))
	}
	for k := range min(len(w.sum), len(other.sum)) {
		w.sum[k] += other.sum[k]
		w.rows[k] += other.rows[k]
	}
}

// error returns the error of all rows, or the mean over the clients with rows of their errors; NaN without rows.
func (w *wrongRows) error(real, overClients bool) float64 {
	errorOf := func(sum float64, rows int) float64 {
		if e := sum / float64(rows); !real {
			return e
		} else {
			return math.Sqrt(e)
		}
	}
	total, mean, rows, clients := 0.0, 0.0, 0, 0
	for k, n := range w.rows {
		total, rows = total+w.sum[k], rows+n
		if n > 0 {
			clients++
			mean += errorOf(w.sum[k], n)
		}
	}
	if overClients {
		return mean / float64(clients)
	}
	return errorOf(total, rows)
}
