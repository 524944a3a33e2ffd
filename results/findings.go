package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// findings are the messages about the runs of an experiment together: each function returns the texts of
// its message, and marks the rows that it doubts.
var findings = []struct {
	about string
	level Level
	find  func(*examined) []string
}{
	{"constant", IsWarning, (*examined).constant},
	{AboutDiverged, IsWarning, (*examined).diverged},
	{"target", IsWarning, (*examined).atOnce},
	{"same", IsWarning, (*examined).same},
	{"end", IsWarning, (*examined).worse},
	{"unequal-ends", IsWarning, (*examined).unequal},
	{"ends", IsNote, (*examined).endsApart},
	{"few rows", IsNote, (*examined).fewRows},
	{"one seed", IsNote, (*examined).oneSeed},
	{"not reached", IsNote, (*examined).missed},
}

// examined is an experiment with its runs: those of the rows of each block.
type examined struct {
	*ExperimentSummary
	runs [][][]Run
}

// A method diverges if its training loss grows by more than divergence over that of the first model. P has a
// regularizer, which grows with a model that learns without it: then it needs regularized.
const (
	divergence  = 10
	regularized = 1e6
)

// divergence returns from which growth of the loss on the run diverges.
func (r *Run) divergence() float64 {
	if r.Objective == OwnObjective && r.learned() {
		return regularized
	}
	return divergence
}

// diverged finds rows whose training loss ends far above that of the first model. A loss that is not finite
// is a warning of its run.
func (e *examined) diverged() []string {
	var in affected
	most, last, remedy := 0.0, 0.0, ""
	for i := range e.runs {
		for k, seeds := range e.runs[i] {
			n := 0
			for s := range seeds {
				from, to := seeds[s].losses()
				if growth := to / from; from > 0 && growth > seeds[s].divergence() && !math.IsInf(to, 1) {
					n++
					if growth > most {
						most, last = growth, to
					}
					if seeds[s].External != nil {
						remedy = ", or check the model: fedsim check --model"
					}
				}
			}
			if n > 0 {
				e.Blocks[i].Rows[k].doubted = true
				in.add(e.labelOf(&e.Blocks[i].Rows[k]), n, len(seeds))
			}
		}
	}
	if most == 0 {
		return nil
	}
	upTo := ""
	if in.runs > 1 {
		upTo = "up to "
	}
	return []string{
		fmt.Sprintf("%s: diverged: the training loss ends at %s%.3g, %.3g times where it began%s; "+
			"lower the step, or scale the features of a file (data.standardize)%s",
			names(in.labels), upTo, last, most, in.share(), remedy),
	}
}

// learned reports whether the last model has a lower training error than the first.
func (r *Run) learned() bool {
	first, last := math.NaN(), math.NaN()
	for i := range r.Rounds {
		if x := r.Rounds[i].TrainError; !math.IsNaN(x) {
			if last = x; math.IsNaN(first) {
				first = x
			}
		}
	}
	return last < first
}

// losses returns the training loss of the first model and of the last; NaN: unknown.
func (r *Run) losses() (first, last float64) {
	first, last = math.NaN(), math.NaN()
	own, declared := r.Metric("train_loss")
	for i := range r.Rounds {
		loss := r.Rounds[i].Primal
		if math.IsNaN(loss) && declared {
			loss = own.Of(&r.Rounds[i])
		}
		if math.IsNaN(loss) {
			continue
		}
		if last = loss; math.IsNaN(first) {
			first = loss
		}
	}
	return first, last
}

// atOnce finds targets that every run has at its first evaluation after a round, or before: they compare
// nothing.
func (e *examined) atOnce() []string {
	var found []string
	latest := 0
	for k, target := range e.Targets {
		last, all := 0, e.Known[k]
		eachRun(e.runs, func(r *Run) {
			m, _ := r.Metric(target.Metric)
			first := slices.IndexFunc(r.Rounds, func(x Round) bool { return x.Round > 0 && !math.IsNaN(m.Of(&x)) })
			at, reached := r.Reached(target)
			all = all && first >= 0 && reached && at.Round <= r.Rounds[max(first, 0)].Round
			last = max(last, at.Round)
		})
		if all {
			found, latest = append(found, e.Texts[k]), max(latest, last)
		}
	}
	if found == nil {
		return nil
	}
	compares, who, when := "compares", e.RowKey, "after one round"
	if len(found) > 1 {
		compares = "compare"
	}
	switch {
	case latest == 0:
		when = "before any round"
	case latest > 1:
		when = "at the earliest evaluation"
	}
	return []string{fmt.Sprintf("%s %s nothing: every %s has it %s", both(found), compares, who, when)}
}

// same finds rows of a block whose runs are equal in all rounds, errors included.
func (e *examined) same() []string {
	blocks := map[string]int{}
	var groups []string
	for i, rows := range e.runs {
		done := make([]bool, len(rows))
		for k := range rows {
			labels := []string{}
			for l := k; l < len(rows); l++ {
				if !done[l] && (l == k || equalRuns(rows[k], rows[l])) {
					done[l], labels = true, append(labels, e.labelOf(&e.Blocks[i].Rows[l]))
				}
			}
			if len(labels) < 2 {
				continue
			}
			for l := range rows {
				row := &e.Blocks[i].Rows[l]
				row.doubted = row.doubted || slices.Contains(labels, e.labelOf(row))
			}
			group := both(labels)
			if blocks[group]++; blocks[group] == 1 {
				groups = append(groups, group)
			}
		}
	}
	for i, group := range groups {
		groups[i] = group + " are the same run" + e.inBlocks(blocks[group]) +
			": nothing that differs in their settings had an effect"
	}
	return groups
}

// equalRuns reports whether runs have equal bytes, times and errors in all rounds of all seeds, and an
// error that is known.
func equalRuns(a, b []Run) bool {
	known := false
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r Run) bool {
		at := slices.IndexFunc(b, func(other Run) bool { return other.Seed == r.Seed })
		return at < 0 || !slices.EqualFunc(r.Rounds, b[at].Rounds, func(x, y Round) bool {
			for _, v := range [][2]float64{
				{x.TimeS, y.TimeS}, {x.BytesDown, y.BytesDown}, {x.BytesUp, y.BytesUp},
				{x.TrainError, y.TrainError}, {x.TestError, y.TestError}, {x.Primal, y.Primal},
			} {
				if v[0] != v[1] && !(math.IsNaN(v[0]) && math.IsNaN(v[1])) {
					return false
				}
			}
			known = known || !math.IsNaN(x.TrainError) || !math.IsNaN(x.TestError)
			return true
		})
	}) && known
}

// The end of a run is worse than its best evaluation by more than these points of an error in shares, or
// this part of another error, and so many standard errors.
const (
	worsePoints = 0.03
	worsePart   = 0.1
	worseErrors = 3
)

// worse finds rows whose error at the end is worse than it was. The best is that of the mean over seeds.
func (e *examined) worse() []string {
	m := e.Metric
	if m.Higher {
		m, _ = MetricNamed(cmp.Or(m.Complement, DefaultMetric))
	}
	var labels []string
	text, most := "", 0.0
	for i := range e.runs {
		for k, seeds := range e.runs[i] {
			end, best, at := fall(&m, seeds)
			least := worsePoints
			if seeds[0].Real {
				least = float64(worsePart * best.Mean)
			}
			loss := end.Mean - best.Mean
			row := &e.Blocks[i].Rows[k]
			if row.doubted || !(loss > least) || !(loss > worseErrors*end.SE) {
				continue
			}
			row.endDoubted = true
			label := e.labelOf(row)
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
			if loss > most {
				labels = append([]string{label},
					slices.DeleteFunc(labels, func(x string) bool { return x == label })...)
				most, text = loss,
					fmt.Sprintf("ends at a %s of %s, its best was %s after %s: the result depends on when it ends",
						m.LabelFor(seeds[0].Real), percent(&m, end.Mean, seeds[0].Real),
						percent(&m, best.Mean, seeds[0].Real),
						TimeText(at, seeds[0].Relative))
			}
		}
	}
	if text == "" {
		return nil
	}
	if len(labels) > 1 {
		text += "; so does that of " + names(labels[1:])
	}
	return []string{labels[0] + ": " + text}
}

// fall returns the error of runs at the end, the lowest of the mean over them, and the time of that one.
// SE of the first is the standard error of the difference of the two, over the seeds, but at least the usual
// difference of an evaluation and the next: the lowest of many is low by chance.
func fall(m *Metric, seeds []Run) (end, best Estimate, timeS float64) {
	least := slices.MinFunc(seeds, func(a, b Run) int { return len(a.Rounds) - len(b.Rounds) })
	best.Mean = math.Inf(1)
	var ends, differences, steps []float64
	for i := range seeds {
		ends = append(ends, seeds[i].AtEnd(m).Mean)
	}
	end = EstimateOf(ends)
	before := math.NaN()
	for i := range least.Rounds {
		values, times := make([]float64, len(seeds)), make([]float64, len(seeds))
		for k := range seeds {
			values[k], times[k] = m.Of(&seeds[k].Rounds[i]), seeds[k].Rounds[i].TimeS
		}
		now := mean(values)
		if math.IsNaN(now) {
			continue
		}
		if !math.IsNaN(before) {
			steps = append(steps, math.Abs(now-before))
		}
		if before = now; now < best.Mean {
			best.Mean, timeS, differences = now, mean(times), values
		}
	}
	if len(steps) == 0 {
		return end, best, timeS
	}
	for k := range differences {
		differences[k] = ends[k] - differences[k]
	}
	slices.Sort(steps)
	end.SE = quantile(steps, 0.5)
	if over := EstimateOf(differences).SE; over > end.SE {
		end.SE = over
	}
	return end, best, timeS
}

// percent formats an error with three digits: 55.1 %, 0.0123 or 1.3e+39.
func percent(m *Metric, value float64, real bool) string {
	if m.Share && !real {
		return fmt.Sprintf("%.1f %%", 100*value)
	}
	return m.withUnit(fmt.Sprintf("%.3g", value))
}

// endsApart finds blocks whose runs end at times that are too far apart to compare errors at the end.
func (e *examined) endsApart() []string {
	var from, to *Row
	n := 0
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if b.endsCompare() || !slices.ContainsFunc(b.Rows, func(r Row) bool { return !math.IsNaN(r.End) }) {
			continue
		}
		n++
		first, last := b.ends()
		if from == nil || last.Totals.TimeS*from.Totals.TimeS > to.Totals.TimeS*first.Totals.TimeS {
			from, to = first, last
		}
		for k := range b.Rows {
			b.Rows[k].endDoubted = true
		}
	}
	if n == 0 {
		return nil
	}
	end := func(r *Row) string {
		return fmt.Sprintf("%s (%s)", TimeText(r.Totals.TimeS, r.Totals.Relative), e.labelOf(r))
	}
	return []string{
		fmt.Sprintf("runs end at %s to %s%s: errors at the end do not compare; run.max_time_s gives all the same time",
			end(from), end(to), e.inBlocks(n)),
	}
}

// oneSeed finds that several methods have one seed each.
func (e *examined) oneSeed() []string {
	if e.RowKey != "method" || e.Seeds != 1 ||
		!slices.ContainsFunc(e.runs, func(rows [][]Run) bool { return len(rows) > 1 }) {
		return nil
	}
	return []string{"one seed: a difference may be chance"}
}

// missed finds targets that no run reached, those of a metric together.
func (e *examined) missed() (texts []string) {
	values := map[string][]string{}
	var order []string
	for k, target := range e.Targets {
		reached := !e.Known[k]
		eachRun(e.runs, func(r *Run) {
			_, ok := r.Reached(target)
			reached = reached || ok
		})
		if reached {
			continue
		}
		if values[target.Metric] == nil {
			order = append(order, target.Metric)
		}
		values[target.Metric] = append(values[target.Metric], e.Texts[k])
	}
	for _, name := range order {
		best, label, real := math.NaN(), "", false
		var metric Metric
		eachRun(e.runs, func(r *Run) {
			m, _ := r.Metric(name)
			for i := range r.Rounds {
				if x := m.Of(&r.Rounds[i]); m.Better(x, best) {
					best, metric, label, real = x, m, e.label(r), r.Real
				}
			}
		})
		if math.IsNaN(best) {
			continue
		}
		if e.RowKey != "method" {
			label = e.RowKey + " = " + label
		}
		first := values[name][0]
		for _, more := range values[name][1:] {
			first += ", " + strings.TrimPrefix(more, metric.LabelFor(real)+" ")
		}
		text, none, rest := percent(&metric, best, real), "no method", ""
		if e.RowKey != "method" {
			none = "no run"
		}
		if metric.Name == Suboptimality {
			text, rest = metric.Format(best, real), e.unsolved()
		}
		texts = append(texts, fmt.Sprintf("%s reached %s; the best was %s, %s%s", none, first, label, text, rest))
	}
	return texts
}

// unsolved says that the reference optimum is not known well enough for a target of sub-optimality that no run reached.
func (e *examined) unsolved() string {
	gap, least := 0.0, math.Inf(1)
	eachRun(e.runs, func(r *Run) {
		if r.OptimumGap > gap {
			gap = r.OptimumGap
		}
	})
	for k, target := range e.Targets {
		if target.Metric == Suboptimality && e.Known[k] {
			least = min(least, target.Value)
		}
	}
	if gap < least {
		return ""
	}
	return fmt.Sprintf("; the reference optimum is solved to a gap of %.2g only (problem.optimum.sweeps)", gap)
}

// eachRun calls do for all runs.
func eachRun(runs [][][]Run, do func(*Run)) {
	for _, rows := range runs {
		for _, seeds := range rows {
			for i := range seeds {
				do(&seeds[i])
			}
		}
	}
}

// inBlocks says of how many blocks something is, if not of all.
func (e *examined) inBlocks(n int) string {
	if n == len(e.Blocks) {
		return ""
	}
	return fmt.Sprintf(" in %d of %d settings", n, len(e.Blocks))
}

// unequal finds a block with a first method in which runs ended without a target, and with less time than those of
// another row.
func (e *examined) unequal() []string {
	for _, f := range e.Firsts() {
		k := slices.Index(e.Targets, f.Target)
		b := &e.Blocks[slices.IndexFunc(e.Blocks, func(b Block) bool { return slices.Equal(b.Point, f.Point) })]
		_, last := b.ends()
		for i := range b.Rows {
			r := &b.Rows[i]
			if f.text == notKnown || r.Cells[k].EndedSeeds == 0 || r.stopped ||
				last.Totals.TimeS <= 1.05*r.Totals.TimeS {
				continue
			}
			texts := timesText(r.Totals.Relative, r.Totals.TimeS, last.Totals.TimeS)
			return []string{
				fmt.Sprintf("%s ended at %s without a target, %s at %s; run.max_time_s gives all methods the same time",
					r.Label, texts[0], last.Label, texts[1])}
		}
	}
	return nil
}
