// Package ranking ranks the methods of an experiment by their errors and by their costs to targets,
// as far as the seeds make ranks certain (docs/reference/examples.md). It must not know files.
package ranking

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/results"
)

// level is the probability that any order of two rows is wrong, of those that a column of a block
// takes for certain.
const level = 0.05

// Table has a block for each point of an experiment, with a row for each method.
type Table struct {
	Experiment string
	Seeds      int // of the row with most
	Vary       results.Vary
	measures   []Measure
	blocks     []Block

	data string // "; data: " and its description; empty: not known
}

// Overlap returns the test rows of a run for each of its training rows, if its repetitions are splits of the
// same rows; 0: they are independent.
type Overlap func(*results.Run) float64

// Measure is what rows are ranked by: a cost to a target, or a metric at the end. Less is better, unless the
// metric says otherwise.
type Measure struct {
	Name   string // of csv: time_s_to_test_error_0.08, test_error
	Target results.Target
	metric results.Metric                                 // without a target
	total  func(before float64, r *results.Round) float64 // the cost up to a round, of that before it
	amount func(*results.Amounts) float64                 // the same cost
	text   func(mean float64) string                      // with its unit
	title  string                                         // of its columns
	head   string                                         // of the first of them
}

// Block is rows that are compared.
type Block struct {
	Point []results.Setting
	Rows  []Row

	overlap float64 // the largest of its runs
}

// Row is a method at a point.
type Row struct {
	Label string
	Cells []Cell // of each measure
}

// Cell is a row's value of a measure.
type Cell struct {
	results.Estimate     // over the seeds; NaN if one has no value
	Known            int // the number of seeds with a value
	Seeds            int
	Cost             results.MeanCost // of a target
	Difference       results.Estimate // paired, to the row of the lowest mean; NaN for that row, and without a mean
	Low, High        int              // the rank is certainly in this range
}

// New ranks the runs of an experiment.
func New(runs []results.Run, targets results.Targets, overlap Overlap) *Table {
	e := results.Summarize(runs, nil).Experiments[0]
	t := &Table{Experiment: e.Experiment, Vary: e.Vary, Seeds: e.Seeds, measures: measuresOf(runs, targets)}
	if runs[0].Data != nil {
		t.data = "; data: " + runs[0].Data.Name
	}
	for i, rows := range e.Grouped(runs) {
		block := Block{Point: e.Blocks[i].Point}
		for k := range rows {
			block.Rows = append(block.Rows, Row{Label: e.Blocks[i].Rows[k].Text()})
			block.overlap = max(block.overlap, overlap(&rows[k][0]))
		}
		for m := range t.measures {
			t.rank(&block, rows, &t.measures[m])
		}
		t.blocks = append(t.blocks, block)
	}
	return t
}

// measuresOf returns those of which some run has a value: errors, then costs by target.
func measuresOf(runs []results.Run, targets results.Targets) (all []Measure) {
	main := results.Main(runs)
	for _, x := range []struct{ name, head string }{{main.Name, "mean"},
		{strings.TrimSuffix(main.Name, "_clients") + "_worst10", "worst 10 %"}} {
		metric, _ := results.MetricOf(runs, x.name)
		if slices.ContainsFunc(runs, func(r results.Run) bool { return metric.Known(&r) }) {
			text := func(v float64) string { return metric.Format(v, runs[0].Real) }
			all = append(all,
				Measure{Name: x.name, metric: metric, text: text, title: main.LabelFor(runs[0].Real) + ", at the end",
					head: x.head})
		}
	}
	for _, m := range results.NamedMetrics(runs) {
		if rows, is := strings.CutPrefix(m.Name, "new_error_"); is && !main.Higher {
			all = append(all, Measure{Name: m.Name, metric: m, title: "error of new clients, by their rows", head: rows,
				text: func(v float64) string { return main.Format(v, runs[0].Real) }})
		}
	}
	for _, target := range targets {
		add :=
			func(name, head string, text func(float64) string, amount func(*results.Amounts) float64,
				total func(float64, *results.Round) float64) {
				all = append(all, Measure{
					Name: name + "_to_" + target.Name(), Target: target, text: text, amount: amount, total: total,
					title: "to " + target.Text(), head: head,
				})
			}
		relative := runs[0].Relative
		add("time_s", "time", func(v float64) string { return results.TimeText(v, relative) },
			func(a *results.Amounts) float64 { return a.TimeS },
			func(_ float64, r *results.Round) float64 { return r.TimeS })
		if !relative {
			add("energy_j", "energy", func(v float64) string { return results.EnergyText(v, false) },
				func(a *results.Amounts) float64 { return a.EnergyJ },
				func(before float64, r *results.Round) float64 { return before + r.EnergyJ })
		}
		total := runs[0].Total()
		for _, c := range results.Heads() {
			if c.Get(&total).Real() > 0 {
				add(c.Name, c.Head, func(v float64) string { return results.AmountText(v, c.Unit) },
					func(a *results.Amounts) float64 { return a.Declared[c.Name] },
					func(before float64, r *results.Round) float64 { return before + c.Get(r).Real() })
			}
		}
		add("bytes", "sent", func(v float64) string { return results.Scaled(v, "B") },
			func(a *results.Amounts) float64 { return a.Bytes },
			func(before float64, r *results.Round) float64 { return before + r.BytesDown + r.BytesUp })
	}
	return all
}

// sample is a measure of a run.
type sample struct {
	seed  uint64
	value float64 // NaN: unknown
	bound float64 // a target that was not reached: the cost at the end, below the unknown one; else NaN
	step  float64 // of a cost: between the last two evaluations before it was known
}

func (m *Measure) of(r *results.Run) sample {
	s := sample{seed: r.Seed, value: math.NaN(), bound: math.NaN()}
	if m.total == nil {
		s.value = r.AtEnd(&m.metric).Mean
		return s
	}
	metric, _ := r.Metric(m.Target.Metric)
	cost, before := 0.0, 0.0
	for i := range r.Rounds {
		x := &r.Rounds[i]
		cost = m.total(cost, x)
		v := metric.Of(x)
		if metric.Reached(v, m.Target.Value) {
			s.value, s.step = cost, cost-before
			return s
		}
		if !math.IsNaN(v) {
			before = cost
		}
	}
	s.bound = cost
	return s
}

// rank adds the cells of a measure to the rows of a block.
func (t *Table) rank(block *Block, runs [][]results.Run, m *Measure) {
	rows := make([][]sample, len(runs))
	cells := make([]Cell, len(runs))
	best, sign := -1, 1.0
	if m.metric.Higher {
		sign = -1
	}
	for i := range runs {
		var values []float64
		for k := range runs[i] {
			s := m.of(&runs[i][k])
			s.value *= sign
			rows[i] = append(rows[i], s)
			values = append(values, s.value)
			if !math.IsNaN(s.value) {
				cells[i].Known++
			}
		}
		cells[i].Estimate, cells[i].Seeds = results.EstimateOf(values), len(values)
		cells[i].Low, cells[i].High = 1, len(rows)
		if m.total != nil {
			cells[i].Cost = results.MeanCostOf(runs[i], m.Target)
		}
		if mean := cells[i].Mean; !math.IsNaN(mean) && (best < 0 || mean < cells[best].Mean) {
			best = i
		}
	}
	for _, p := range certain(rows, block.overlap) {
		cells[p.less].High--
		cells[p.more].Low++
	}
	for i := range cells {
		cells[i].Difference = results.EstimateOf(nil)
		if best >= 0 && i != best {
			d, _ := differences(rows[best], rows[i], false)
			cells[i].Difference = results.EstimateOf(d)
		}
		cells[i].Mean, cells[i].Difference.Mean = sign*cells[i].Mean, sign*cells[i].Difference.Mean
		block.Rows[i].Cells = append(block.Rows[i].Cells, cells[i])
	}
}

// pair is two rows in the order of their means.
type pair struct {
	less, more int
	p          float64 // two-sided, of a paired t-test
}

// certain returns the pairs of rows whose order is certain. Holm, A Simple Sequentially Rejective
// Multiple Test Procedure, Scandinavian Journal of Statistics 6 (1979), corrects for their number, so that
// all rank ranges hold at once (Mogstad, Romano, Shaikh, Wilhelm, Review of Economic Studies 91, 2024).
func certain(rows [][]sample, overlap float64) []pair {
	var pairs []pair
	for i := range rows {
		for k := range i {
			p := pair{less: k, more: i}
			var mean float64
			if mean, p.p = test(rows[k], rows[i], overlap); mean < 0 {
				p.less, p.more = i, k
			}
			pairs = append(pairs, p)
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.p, b.p) })
	for i := range pairs {
		if pairs[i].p > level/float64(len(pairs)-i) {
			return pairs[:i]
		}
	}
	return pairs
}

// test returns the mean of b - a, or a bound of it, and the p of a paired t-test of 0; p is 1 where nothing
// can be said. Splits of the same rows share training rows: their variance is corrected as by Nadeau and
// Bengio, Inference for the Generalization Error, Machine Learning 52 (2003). It is at least that of
// costs which are known up to their steps.
func test(a, b []sample, overlap float64) (mean, p float64) {
	d, steps := differences(a, b, true)
	if d == nil {
		d, steps = differences(b, a, true)
		for i := range d {
			d[i] = -d[i]
		}
	}
	e := results.EstimateOf(d)
	if e.N < 2 || math.IsNaN(e.Mean) || bounded(b) && e.Mean < 0 || bounded(a) && e.Mean > 0 {
		return e.Mean, 1
	}
	n := float64(e.N)
	variance := max(float64(e.SD*e.SD), steps/(12*n))
	se := math.Sqrt(variance * (1/n + overlap))
	if se == 0 {
		if e.Mean == 0 {
			return 0, 1
		}
		return e.Mean, 0
	}
	return e.Mean, 2 * distuv.StudentsT{Sigma: 1, Nu: n - 1}.CDF(-math.Abs(e.Mean)/se)
}

// bounded reports whether a target was not reached by some run.
func bounded(row []sample) bool {
	return slices.ContainsFunc(row, func(s sample) bool { return !math.IsNaN(s.bound) })
}

// differences returns b - a for the seeds of both, and the sum of the squares of their steps. With bounds,
// an unknown value of b is replaced by its bound; nil: a value of a is unknown.
func differences(a, b []sample, bounds bool) (d []float64, steps float64) {
	for _, x := range a {
		k := slices.IndexFunc(b, func(y sample) bool { return y.seed == x.seed })
		if k < 0 {
			continue
		}
		y := b[k]
		if bounds && math.IsNaN(x.value) {
			return nil, 0
		}
		if bounds && math.IsNaN(y.value) {
			y.value = y.bound
		}
		d = append(d, y.value-x.value)
		steps += float64(x.step*x.step) + float64(y.step*y.step)
	}
	return d, steps
}
