package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Estimate is the mean of some values and how much they differ. NaN stands for unknown.
type Estimate struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"-"`              // standard deviation of a sample, over n - 1; NaN for one value
	SE   float64 `json:"standard_error"` // of the mean; NaN for one value
	N    int     `json:"n"`              // the number of values
}

// EstimateOf returns the estimate of values, which are unknown together if one is.
func EstimateOf(values []float64) Estimate {
	e := Estimate{Mean: math.NaN(), SD: math.NaN(), SE: math.NaN(), N: len(values)}
	if e.N == 0 {
		return e
	}
	e.Mean = mean(values)
	if e.N > 1 {
		sum := 0.0
		for _, x := range values {
			sum += float64((x - e.Mean) * (x - e.Mean))
		}
		e.SD = math.Sqrt(sum / float64(e.N-1))
		e.SE = e.SD / math.Sqrt(float64(e.N))
	}
	return e
}

// AtEnd returns the last ReportLast values of a metric after a round of the run, or as many as there are. Of P, and
// of what is derived from it, it is the last one.
func (r *Run) AtEnd(m *Metric) Estimate {
	var last []float64
	most := max(1, r.ReportLast)
	if m.Couples {
		most = 1
	}
	for i := len(r.Rounds) - 1; i >= 0 && len(last) < most && (i > 0 || len(last) == 0); i-- {
		if x := m.Of(&r.Rounds[i]); !math.IsNaN(x) {
			last = append(last, x)
		}
	}
	return EstimateOf(last)
}

const lastEvaluation = "last evaluation"

// lastOf says which evaluations stand for the ends of runs.
func lastOf(runs []Run) string {
	least, most := math.MaxInt, 0
	for i := range runs {
		n := max(1, runs[i].ReportLast)
		least, most = min(least, n), max(most, n)
	}
	switch {
	case most <= 1:
		return lastEvaluation
	case least == 1:
		return fmt.Sprintf("mean of the last %d evaluations, or the last where run.stop_at ended the run", most)
	default:
		return fmt.Sprintf("mean of the last %d evaluations", most)
	}
}

// ErrorTable has the errors at the end of the runs of an experiment, their uncertainty, and how
// far the model is from the optimum of its problem.
type ErrorTable struct {
	Experiment string
	Metric     Metric // Main, or the training error where no run has its value
	Worst      Metric // of the worst 10 % of clients
	RowKey     string // as in ExperimentSummary
	Real       bool
	Seeds      int    // largest number of runs in a row
	Vary       Vary   // varied by their seeds; empty where runs differ in it
	ReportLast int    // Run.ReportLast, the most of them
	Last       string // lastOf the runs
	Blocks     []ErrorBlock
}

// ErrorBlock is rows that are compared, as those of a Block.
type ErrorBlock struct {
	Point []Setting
	Rows  []ErrorRow
	Notes []string // on rows with the same errors, and on errors that jump
}

// ErrorRow is a method at one point.
type ErrorRow struct {
	Point      []Setting `json:"point"` // that of the block
	Label      string    `json:"label"`
	Metric     string    `json:"metric"`      // the name of ErrorTable.Metric
	Error      Estimate  `json:"error"`       // over the seeds
	ReportLast int       `json:"report_last"` // the number of last evaluations that are the end of a run
	// standard deviation of these, mean over the seeds; NaN for one evaluation
	Spread     float64  `json:"spread"`
	Best       bool     `json:"best"`       // the row has the best end of the block, and no message doubts it
	Difference Estimate `json:"difference"` // to the best row, over the seeds that both have
	Worst      Estimate `json:"worst10"`    // over the seeds; N is 0 without values by client
	Limit      Estimate `json:"limit"`      // error of the model at the optimum of the run's problem
	LimitWorst Estimate `json:"limit_worst10"`
	Trials     []int    `json:"trials"` // least and most that tuning tried, over the seeds; nil: nothing was tuned
}

// ErrorTables returns a table for each experiment whose runs have errors that are uncertain,
// or a known limit: several seeds or an optimum.
func ErrorTables(runs []Run) []ErrorTable {
	var tables []ErrorTable
	for _, group := range ByExperiment(runs) {
		if t := errorTable(group); t.informs() {
			tables = append(tables, t)
		}
	}
	return tables
}

// errorTable returns the table of the runs of an experiment, in the order of its summary.
func errorTable(runs []Run) ErrorTable {
	e := summarize(runs, nil)
	t := ErrorTable{Experiment: e.Experiment, RowKey: e.RowHead(), Real: e.real(), Vary: e.Vary, Last: lastOf(runs)}
	training := "train_error"
	if strings.HasSuffix(e.Metric.Name, clientsSuffix) {
		training += clientsSuffix
	}
	for _, name := range []string{e.Metric.Name, training} {
		t.Metric, _ = MetricOf(runs, name)
		t.Worst, _ = MetricOf(runs, strings.TrimSuffix(name, clientsSuffix)+"_worst10")
		if slices.ContainsFunc(runs, func(r Run) bool { return t.Metric.Known(&r) }) {
			break
		}
	}
	for i, rows := range e.Grouped(runs) {
		block := ErrorBlock{Point: e.Blocks[i].Point}
		for k, seeds := range rows {
			block.Rows = append(block.Rows, t.row(e.Blocks[i].Rows[k].Text(), seeds))
			t.Seeds = max(t.Seeds, len(seeds))
			for _, r := range seeds {
				t.ReportLast = max(t.ReportLast, r.ReportLast)
			}
		}
		block.compare(&t.Metric, rows)
		for k := range block.Rows {
			if r := &e.Blocks[i].Rows[k]; block.Rows[k].Best && (r.doubted || r.endDoubted) {
				block.withoutBest()
			}
		}
		block.Notes = t.notes(&block, rows)
		t.Blocks = append(t.Blocks, block)
	}
	for _, block := range t.Blocks {
		for i := range block.Rows {
			r := &block.Rows[i]
			r.Point, r.Metric, r.ReportLast = block.Point, t.Metric.Name, max(1, t.ReportLast)
		}
	}
	return t
}

// row returns the row of runs that differ in their seed.
func (t *ErrorTable) row(label string, seeds []Run) ErrorRow {
	row := ErrorRow{Label: label}
	over := func(value func(*Run) float64) Estimate {
		values := make([]float64, len(seeds))
		for i := range seeds {
			values[i] = value(&seeds[i])
		}
		return EstimateOf(values)
	}
	atOptimum := func(m *Metric) func(*Run) float64 {
		return func(r *Run) float64 {
			if r.AtOptimum == nil {
				return math.NaN()
			}
			return m.Of(r.AtOptimum)
		}
	}
	row.Error = over(func(r *Run) float64 { return r.AtEnd(&t.Metric).Mean })
	row.Spread = over(func(r *Run) float64 { return r.AtEnd(&t.Metric).SD }).Mean
	row.Worst = over(func(r *Run) float64 { return r.AtEnd(&t.Worst).Mean })
	row.Limit, row.LimitWorst = over(atOptimum(&t.Metric)), over(atOptimum(&t.Worst))
	for i := range seeds {
		switch n := seeds[i].Trials; {
		case n == 0:
		case row.Trials == nil:
			row.Trials = []int{n, n}
		default:
			row.Trials[0], row.Trials[1] = min(row.Trials[0], n), max(row.Trials[1], n)
		}
	}
	return row
}

// compare finds the best row and the differences of the others, seed by seed.
func (b *ErrorBlock) compare(m *Metric, seeds [][]Run) {
	best := -1
	for i := range b.Rows {
		if x := b.Rows[i].Error.Mean; !math.IsNaN(x) && (best < 0 || m.Better(x, b.Rows[best].Error.Mean)) {
			best = i
		}
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		row.Best, row.Difference = i == best && len(b.Rows) > 1, EstimateOf(nil)
		if best < 0 || i == best {
			continue
		}
		var differences []float64
		for k := range seeds[i] {
			at := slices.IndexFunc(seeds[best], func(r Run) bool { return r.Seed == seeds[i][k].Seed })
			if at >= 0 {
				differences = append(differences, seeds[i][k].AtEnd(m).Mean-seeds[best][at].AtEnd(m).Mean)
			}
		}
		row.Difference = EstimateOf(differences)
	}
}

// withoutBest takes the star from the best row, to which no difference is known then.
func (b *ErrorBlock) withoutBest() {
	for i := range b.Rows {
		b.Rows[i].Best, b.Rows[i].Difference = false, EstimateOf(nil)
	}
}

// some reports whether any row has a property.
func (t *ErrorTable) some(property func(*ErrorRow) bool) bool {
	for i := range t.Blocks {
		if slices.ContainsFunc(t.Blocks[i].Rows, func(r ErrorRow) bool { return property(&r) }) {
			return true
		}
	}
	return false
}

// informs reports whether the table says more than the ends of the runs do.
func (t *ErrorTable) informs() bool {
	return t.some(func(r *ErrorRow) bool { return !math.IsNaN(r.Error.Mean) }) &&
		(t.Seeds > 1 || t.some(func(r *ErrorRow) bool { return !math.IsNaN(r.Limit.Mean) }))
}
