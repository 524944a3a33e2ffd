package results

import (
	"math"
	"slices"
	"strings"
)

// Summary summarizes the runs of a scenario: for each experiment, point and method, the end
// of its runs, and rounds, virtual time, bytes and energy to each target.
type Summary struct {
	Targets     Targets
	Experiments []ExperimentSummary
}

// ExperimentSummary is the part of one experiment.
type ExperimentSummary struct {
	Experiment string
	RowKey     string   // key that distinguishes the rows: "method", or the swept key of a single method
	Sampled    []string // keys with one value for each of RowKey: those of a sample; of Row.Sampled
	Seeds      int      // largest number of runs in a row
	Vary       Vary     // varied by their seeds; empty where runs differ in it
	Last       string   // lastOf the runs
	Targets    Targets
	ByP        bool     // P compares the rows; see ComparableByP
	Known      []bool   // by target: whether any run has a value of its metric, and ByP where the metric needs it
	Texts      []string // by target: metric and value for people
	Metric     Metric   // Main, of which rows have End
	Losses     []string // Run.Loss of the runs, each once
	Named      []Metric // declared by learners, with values at the end of a run, and accuracies of targets
	Clients    []Metric // ClientStatistics
	ClientsOf  string   // label of the metric of MainStatistics
	Main       []Metric // those of Clients that are shown: MainStatistics
	Blocks     []Block

	settled  []Settled // see Summary.Settle
	messages []Message // see Summary.Messages
	goals    []Metric  // by target
	chosen   bool      // see Chosen
	finals   []Metric  // see Shown
}

// Block is a set of rows that are compared.
type Block struct {
	Point []Setting // settings that the rows share; empty without a sweep
	Rows  []Row
}

// Row is the mean over the seeds of one method at one point.
type Row struct {
	Point       []Setting `json:"point"`    // that of the block, and Sampled
	Label       string    `json:"label"`    // the method, or the value of the swept key
	LabelOf     string    `json:"label_of"` // ExperimentSummary.RowKey
	Algorithm   string    `json:"algorithm"`
	Seeds       int       `json:"seeds"`         // the number of runs
	Stalled     int       `json:"stalled"`       // the number of runs that stalled
	Interrupted int       `json:"interrupted"`   // the number of runs that were interrupted
	Last        float64   `json:"suboptimality"` // the final sub-optimality, mean over seeds; NaN where it is not known
	Metric      string    `json:"metric"`        // the name of ExperimentSummary.Metric
	End         float64   `json:"end"`           // its value at the end, mean over seeds
	Totals
	Metrics []MetricValue `json:"metrics"` // at the end, of ExperimentSummary.Named and then Clients
	Cells   []Cell        `json:"targets"` // one for each target

	Sampled  []Setting `json:"-"` // the values of ExperimentSummary.Sampled
	Limit    string    `json:"-"` // Run.Limit
	Updates  int64     `json:"-"` // the number of updates that the server used, over all seeds
	Protocol string    `json:"-"` // Run.Protocol
	Known    int       `json:"-"` // Run.Known, the most of its seeds
	Capped   int64     `json:"-"` // the number of these whose local work reached the limit before its accuracy
	Best     bool      `json:"-"` // End is the best of the block, not all are equal, and no message doubts it

	end                 Estimate
	finals              []Estimate // of ExperimentSummary.finals
	longest             float64    // the virtual time at the end of the run that ends last
	doubted, endDoubted bool       // by a message: all of its numbers, those at the end
	stopped             bool       // a run ended at StopAt
}

// Totals are the cost and the final state of a row, mean over seeds. Primal and the errors
// are NaN where they were not evaluated.
type Totals struct {
	Primal                 float64            `json:"primal"`
	TestError              float64            `json:"test_error"`
	ValidationError        float64            `json:"validation_error"`
	TestErrorClients       float64            `json:"test_error_clients"`
	ValidationErrorClients float64            `json:"validation_error_clients"`
	Rounds                 float64            `json:"rounds"`
	TimeS                  float64            `json:"time_s"`   // virtual seconds
	Relative               bool               `json:"relative"` // times are relative units, not seconds
	EnergyJ                float64            `json:"energy_j"`
	Declared               map[string]float64 `json:",embed"`       // costs of Heads by column; NaN: not counted
	Bytes                  float64            `json:"bytes"`        // downlink and uplink
	Answers                float64            `json:"participants"` // updates per round that the server used
	Real                   bool               `json:"-"`            // errors are root mean square errors, not shares
}

// MetricValue is a value of a metric that a learner declares, or of a statistic over clients.
type MetricValue struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Higher bool    `json:"higher"` // higher values are better
	Value  float64 `json:"value"`  // NaN: unknown
}

// Cell is the mean cost of reaching one target.
type Cell struct {
	Target
	MeanCost
	// Ratio is that of TimeS to the time of the fastest row of the block, if that is known; NaN where a time
	// is not, or that of the fastest is zero.
	Ratio float64 `json:"ratio"`

	bound Amounts  // the least AtLeast of rows of the block whose cost is not known; infinite without one
	end   Estimate // of the metric of the target at the end
}

// Chosen returns the target of runs that have none: the highest whole percent of test accuracy that each reached
// before the first of them ended, over clients where Main is; if each began with that, the highest that each
// reached at all. Real targets, runs that take no time, and runs that all end as they began have none.
func Chosen(runs []Run) Targets {
	name := "test_accuracy"
	if main := Main(runs); strings.HasSuffix(main.Name, clientsSuffix) {
		name += clientsSuffix
	}
	accuracy, _ := MetricOf(runs, name)
	first := math.Inf(1)
	for i := range runs {
		if n := len(runs[i].Rounds); n > 1 && runs[i].Rounds[n-1].TimeS > 0 {
			first = min(first, runs[i].Rounds[n-1].TimeS)
		}
	}
	if len(runs) == 0 || runs[0].Real || math.IsInf(first, 1) {
		return nil
	}
	began := reachedByAll(runs, accuracy, 0)
	for _, until := range []float64{first, math.Inf(1)} {
		if percent := reachedByAll(runs, accuracy, until); percent > max(0, began) {
			return Targets{{name, percent / 100}}
		}
	}
	return nil
}

// reachedByAll returns the highest whole percent of a metric that each run reached until a time.
func reachedByAll(runs []Run, accuracy Metric, untilS float64) float64 {
	least := 1.0
	for i := range runs {
		best := math.Inf(-1)
		for k := range runs[i].Rounds {
			if r := &runs[i].Rounds[k]; r.TimeS <= untilS && accuracy.Of(r) > best {
				best = accuracy.Of(r)
			}
		}
		least = min(least, best)
	}
	return math.Floor(float64(100*least) + 1e-9)
}

// Summarize summarizes runs for targets, in the given order; without one for that which each experiment
// has by itself. The rows of a block are the
// methods at one point. An experiment with one method and a sweep has instead a row for each
// value of the key with the most values.
func Summarize(runs []Run, targets Targets) Summary {
	t := Summary{Targets: targets}
	for _, group := range ByExperiment(runs) {
		if len(targets) > 0 {
			t.Experiments = append(t.Experiments, summarize(group, targets))
			continue
		}
		e := summarize(group, Chosen(group))
		for i := range e.Texts {
			e.Texts[i], e.chosen = e.Texts[i]+", chosen: all reached it", true
		}
		t.Experiments = append(t.Experiments, e)
	}
	return t
}

func summarize(runs []Run, targets Targets) ExperimentSummary {
	e := ExperimentSummary{Experiment: runs[0].Experiment, RowKey: RowKey(runs), Vary: runs[0].Vary, Last: lastOf(runs),
		Targets: targets, ByP: ComparableByP(runs), Metric: Main(runs)}
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Vary != e.Vary }) {
		e.Vary = ""
	}
	for i := range runs {
		if loss := runs[i].Loss; loss != "" && !slices.Contains(e.Losses, loss) {
			e.Losses = append(e.Losses, loss)
		}
	}
	for _, t := range targets {
		m, _ := MetricOf(runs, t.Metric)
		e.goals = append(e.goals, m)
		e.Known = append(e.Known,
			(e.ByP || !t.MeasuresP()) && slices.ContainsFunc(runs, func(r Run) bool { return m.Known(&r) }))
		e.Texts = append(e.Texts, t.Text(runs...))
	}
	e.Clients = ClientStatistics(runs)
	e.Named = e.named(runs)
	e.ClientsOf, e.Main = MainStatistics(runs)
	if e.RowKey != "method" {
		e.Sampled = sampled(runs, e.RowKey)
	}
	groups := e.Grouped(runs)
	for _, block := range groups {
		b := Block{Point: e.point(&block[0][0])}
		for _, seeds := range block {
			row := newRow(e.label(&seeds[0]), seeds, targets)
			for _, key := range e.Sampled {
				row.Sampled = append(row.Sampled, Setting{key, seeds[0].ValueOf(key)})
			}
			row.Point, row.LabelOf = slices.Concat(b.Point, row.Sampled), e.RowKey
			row.Metric, row.end = e.Metric.Name, e.Metric.AtEnd(seeds)
			row.End = row.end.Mean
			for _, m := range slices.Concat(e.Named, e.Clients) {
				if !slices.ContainsFunc(row.Metrics, func(v MetricValue) bool { return v.Name == m.Name }) {
					row.Metrics = append(row.Metrics, m.ValueAtEnd(seeds))
				}
			}
			e.Seeds = max(e.Seeds, row.Seeds)
			b.Rows = append(b.Rows, row)
		}
		b.compare(&e.Metric)
		e.Blocks = append(e.Blocks, b)
	}
	e.finals = e.endsOf(runs)
	for i, block := range groups {
		for k, seeds := range block {
			for _, m := range e.finals {
				e.Blocks[i].Rows[k].finals = append(e.Blocks[i].Rows[k].finals, m.AtEnd(seeds))
			}
		}
	}
	e.inform(groups)
	return e
}

// named returns the declared metrics with values at the end, and the accuracies of targets. Those that are
// shown elsewhere are not among them, unless they are targets: Metric, the loss in training, which is the
// objective, and what runs measure by client.
func (e *ExperimentSummary) named(runs []Run) (list []Metric) {
	declared := NamedMetrics(runs)
	for i, m := range slices.Concat(declared, Accuracies(runs)) {
		same := func(x Metric) bool { return x.Name == m.Name }
		_, _, _, measured := ClientMetricNamed(m.Name)
		elsewhere := m.Name == "train_loss" || i >= len(declared) || measured && slices.ContainsFunc(e.Clients, same)
		target := slices.ContainsFunc(e.Targets, func(t Target) bool { return t.Metric == m.Name })
		known := slices.ContainsFunc(runs, func(r Run) bool { return m.Known(&r) })
		if known && m.Statistic == "" && m.Name != e.Metric.Name && (target || !elsewhere) {
			list = append(list, m)
		}
	}
	return list
}

// Grouped groups runs by block, then by row.
func (e *ExperimentSummary) Grouped(runs []Run) (blocks [][][]Run) {
	for _, block := range groupBy(runs, func(r *Run) string { return SettingsText(e.point(r)) }) {
		blocks = append(blocks, groupBy(block, e.label))
	}
	return blocks
}

// point returns the settings of a run that do not distinguish rows.
func (e *ExperimentSummary) point(r *Run) []Setting {
	return without(r.Point, append([]string{e.RowKey}, e.Sampled...))
}

// label returns the label of the row of a run.
func (e *ExperimentSummary) label(r *Run) string { return r.ValueOf(e.RowKey) }

// RowKey returns the key that distinguishes the rows of an experiment.
func RowKey(runs []Run) string {
	values := func(key string) int { return len(groupBy(runs, func(r *Run) string { return r.ValueOf(key) })) }
	if values("method") > 1 {
		return "method"
	}
	best, most := "method", 1
	for _, key := range SweptKeys(runs) {
		if n := values(key); n > most {
			best, most = key, n
		}
	}
	return best
}

// ByExperiment returns the runs of each experiment, in the order of first appearance.
func ByExperiment(runs []Run) [][]Run {
	return groupBy(runs, func(r *Run) string { return r.Experiment })
}

// groupBy groups runs by a text, in the order of first appearance.
func groupBy(runs []Run, text func(*Run) string) [][]Run {
	var groups [][]Run
	place := make(map[string]int)
	for i := range runs {
		k := text(&runs[i])
		at, ok := place[k]
		if !ok {
			at = len(groups)
			place[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], runs[i])
	}
	return groups
}

// sampled returns the keys that differ and have one value for each value of another key.
func sampled(runs []Run, of string) []string {
	var found []string
	for _, key := range SweptKeys(runs) {
		values, differ := map[string]string{}, map[string]bool{}
		single := key != of
		for i := range runs {
			at, v := runs[i].ValueOf(of), runs[i].ValueOf(key)
			had, seen := values[at]
			single = single && (!seen || had == v)
			values[at], differ[v] = v, true
		}
		if single && len(differ) > 1 {
			found = append(found, key)
		}
	}
	return found
}

func without(point []Setting, keys []string) []Setting {
	var rest []Setting
	for _, s := range point {
		if !slices.Contains(keys, s.Key) {
			rest = append(rest, s)
		}
	}
	return rest
}

// SettingsText formats settings as "key = value, key = value".
func SettingsText(settings []Setting) string {
	text := ""
	for i, s := range settings {
		if i > 0 {
			text += ", "
		}
		text += s.Key + " = " + s.Value
	}
	return text
}

func newRow(label string, seeds []Run, targets Targets) Row {
	row := Row{Label: label, Protocol: seeds[0].Protocol, Algorithm: seeds[0].Algorithm, Seeds: len(seeds)}
	n := float64(len(seeds))
	for i := range seeds {
		last, ok := seeds[i].LastEvaluated()
		if !ok {
			last.Suboptimality = math.NaN()
		}
		row.Last += last.Suboptimality / n
		row.Totals.add(&seeds[i], n)
		if k := len(seeds[i].Rounds); k > 0 {
			row.longest, row.stopped = max(row.longest, seeds[i].Rounds[k-1].TimeS), row.stopped || seeds[i].AtStop()
		}
		row.Limit, row.Capped = seeds[i].Limit, row.Capped+seeds[i].Capped
		row.Known = max(row.Known, seeds[i].Known)
		row.Updates += int64(seeds[i].Total().Participants)
		switch seeds[i].Status {
		case Stalled:
			row.Stalled++
		case Interrupted:
			row.Interrupted++
		}
	}
	for _, x := range targets {
		m, _ := MetricOf(seeds, x.Metric)
		row.Cells = append(row.Cells, Cell{x, MeanCostOf(seeds, x), math.NaN(), all(math.Inf(1)), m.AtEnd(seeds)})
	}
	return row
}

// ValueAtEnd returns AtEnd with the name of the metric.
func (m *Metric) ValueAtEnd(runs []Run) MetricValue {
	return MetricValue{m.Name, m.Unit, m.Higher, m.AtEnd(runs).Mean}
}

// value returns the value of a metric of the row at the end; NaN without one.
func (r *Row) value(metric string) float64 {
	for _, m := range r.Metrics {
		if m.Name == metric {
			return m.Value
		}
	}
	return math.NaN()
}

// AtEnd returns the estimate of Run.AtEnd of the metric over runs; it is unknown when a run has none.
func (m *Metric) AtEnd(runs []Run) Estimate {
	values := make([]float64, len(runs))
	for i := range runs {
		values[i] = runs[i].AtEnd(m).Mean
	}
	return EstimateOf(values)
}

// add adds one of n runs to the means.
func (t *Totals) add(r *Run, n float64) {
	primal := math.NaN()
	if last, ok := r.LastEvaluated(); ok {
		primal = last.Primal
	}
	if t.Declared == nil {
		t.Declared = costs(func(*Column[Round]) float64 { return 0 })
	}
	t.Real, t.Relative = r.Real, r.Relative
	t.Primal += primal / n
	share := func(name string) float64 {
		m, _ := column(name)
		return r.AtEnd(&m).Mean / n
	}
	t.TestError += share("test_error")
	t.TestErrorClients += share("test_error_clients")
	t.ValidationError += share("validation_error")
	t.ValidationErrorClients += share("validation_error_clients")
	if len(r.Rounds) < 2 {
		return
	}
	rounds := r.Rounds[1:]
	heads := Heads()
	end := rounds[len(rounds)-1]
	t.Rounds += float64(end.Round) / n
	t.TimeS += end.TimeS / n
	for i := range rounds {
		t.Answers += float64(rounds[i].Participants) / float64(len(rounds)) / n
		t.Bytes += (rounds[i].BytesDown + rounds[i].BytesUp) / n
		t.EnergyJ += rounds[i].EnergyJ / n
		for _, c := range heads {
			t.Declared[c.Name] += c.Get(&rounds[i]).Real() / n
		}
	}
}

// compare sets the ratios and Best, by a metric.
func (b *Block) compare(by *Metric) {
	best, differ := math.NaN(), false
	for i := range b.Rows {
		x := b.Rows[i].End
		differ = differ || !math.IsNaN(x) && !math.IsNaN(best) && x != best
		if by.Better(x, best) {
			best = x
		}
	}
	for i := range b.Rows {
		b.Rows[i].Best = differ && b.Rows[i].End == best
	}
	for j := range b.Rows[0].Cells {
		b.compareCosts(j)
	}
}

// compareCosts sets what the costs of a target have relative to those of other rows. The fastest row is that of the
// least time above zero, unless another row may have been faster.
func (b *Block) compareCosts(target int) {
	fastest, bound := math.Inf(1), all(math.Inf(1))
	costs := make([]*MeanCost, len(b.Rows))
	for i := range b.Rows {
		c := &b.Rows[i].Cells[target].MeanCost
		costs[i] = c
		switch {
		case c.Reached && c.TimeS > 0:
			fastest = min(fastest, c.TimeS)
		case !c.Reached && c.Seeds() > 0:
			bound = bound.least(c.AtLeast)
		}
	}
	Restrict(costs)
	for i := range b.Rows {
		c := &b.Rows[i].Cells[target]
		if c.bound = bound; c.Reached && fastest < bound.TimeS {
			c.Ratio = c.TimeS / fastest
		}
	}
}

// ends returns the rows whose runs end first and last in the mean; nil without runs that take time.
func (b *Block) ends() (first, last *Row) {
	for i := range b.Rows {
		r := &b.Rows[i]
		if !(r.Totals.TimeS > 0) {
			continue
		}
		if first == nil || r.Totals.TimeS < first.Totals.TimeS {
			first = r
		}
		if last == nil || r.Totals.TimeS > last.Totals.TimeS {
			last = r
		}
	}
	return first, last
}

// endsCompare reports whether errors at the ends of rows compare: their runs take the same virtual time, but for
// a tenth.
func (b *Block) endsCompare() bool {
	first, last := b.ends()
	return first == nil || last.Totals.TimeS <= 1.1*first.Totals.TimeS
}
