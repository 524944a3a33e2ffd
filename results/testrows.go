package results

import (
	"fmt"
	"math"
	"strings"
)

// TestRows is what is known of the test rows of a run before it.
type TestRows struct {
	// Constant is the error by rows of the most frequent class of the training rows as a constant answer, or
	// the root mean square error of their mean.
	Constant float64 `json:"constant_error"`
	Clients  int     `json:"clients"` // with test rows
	Few      int     `json:"few"`     // clients of these with fewer than FewTestRows
}

// FewTestRows is the number of test rows below which the error of a client says little.
const FewTestRows = 10

// constant finds that no row of a block has a lower test error at the end than a constant answer.
func (e *examined) constant() []string {
	best, constant, real, n := 0.0, 0.0, false, 0
	for i := range e.runs {
		least, answer := math.Inf(1), math.Inf(-1)
		for k, seeds := range e.runs[i] {
			if x := e.Blocks[i].Rows[k].Totals.TestError; !math.IsNaN(x) {
				least = min(least, x)
			}
			answer = max(answer, constantOf(seeds)) // NaN if one is
		}
		if math.IsInf(least, 1) || !(least >= answer) {
			continue
		}
		for k := range e.Blocks[i].Rows {
			e.Blocks[i].Rows[k].doubted = true
		}
		if n++; n == 1 {
			best, constant, real = least, answer, e.runs[i][0][0].Real
		}
	}
	if n == 0 {
		return nil
	}
	m, _ := MetricNamed("test_error")
	return []string{fmt.Sprintf("no method beats a constant answer%s: it has a %s of %s, the best method %s",
		e.inBlocks(n), m.LabelFor(real), percent(&m, constant, real), percent(&m, best, real))}
}

// fewRows finds clients of few test rows in a mean over clients. Runs of other data may have other numbers: those with
// most.
func (e *examined) fewRows() []string {
	if !strings.HasSuffix(e.Metric.Name, clientsSuffix) {
		return nil
	}
	few, of := 0, 0
	eachRun(e.runs, func(r *Run) {
		if t := r.TestRows; t != nil && t.Few > few {
			few, of = t.Few, t.Clients
		}
	})
	if few == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d clients have under %d test rows and count as much as the others", few, of,
		FewTestRows)}
}

// constantOf returns the mean error of a constant answer over runs; NaN: one is not known.
func constantOf(seeds []Run) float64 {
	values := make([]float64, len(seeds))
	for i := range seeds {
		if values[i] = math.NaN(); seeds[i].TestRows != nil {
			values[i] = seeds[i].TestRows.Constant
		}
	}
	return mean(values)
}
