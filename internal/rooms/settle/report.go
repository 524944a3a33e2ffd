package settle

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/orderstat"
	"fedsim/results"
)

// Report says what is settled (docs/reference/json.md).
type Report struct {
	By          string         `json:"by"`
	Target      results.Target `json:"target"`
	Margin      float64        `json:"margin"`
	Confidence  float64        `json:"confidence"`
	Vary        results.Vary   `json:"vary"`
	TuningSeeds uint64         `json:"tuning_seeds"` // 1 to so many do not count
	Settled     bool           `json:"settled"`      // every block is
	*Standing                  // of the only block
	Blocks      []Standing     `json:"blocks,omitempty"` // several

	all   []Standing
	jobs  []Job
	test  certainty.Test
	order bool
}

// Standing is where a block stands.
type Standing struct {
	Block
	Seeds   []uint64         `json:"seeds"` // that count
	Reason  certainty.Reason `json:"reason"`
	Next    int              `json:"next"` // number of seeds after which more can be decided
	Leaders []string         `json:"leaders"`
	Rows    []Row            `json:"rows"`
	Pairs   []Pair           `json:"pairs"`

	outcome certainty.Outcome
	runs    [][]*results.Run
}

// Row is a row of a block.
type Row struct {
	Label      string  `json:"label"`
	MedianLow  float64 `json:"median_low"` // of the cost, or the error
	MedianHigh float64 `json:"median_high"`
	Mean       float64 `json:"mean"` // NaN: not known
	RankLow    int     `json:"rank_low"`
	RankHigh   int     `json:"rank_high"`
}

// Pair is two rows of a block.
type Pair struct {
	A          string             `json:"a"`
	B          string             `json:"b"`
	Decision   certainty.Decision `json:"decision"`
	Low        float64            `json:"low"` // of b / a, or of b - a
	High       float64            `json:"high"`
	Dropped    int                `json:"dropped"`
	MedianLow  float64            `json:"median_low"`
	MedianHigh float64            `json:"median_high"`
	SupportsA  int                `json:"supports_a"` // seeds
	SupportsB  int                `json:"supports_b"`
	Censored   int                `json:"censored"` // seeds whose ratio is not known
}

// New judges runs of jobs by blocks.
func New(c Config, jobs []Job, runs []results.Run) (*Report, error) {
	blocks, err := Blocks(jobs, c.Rows)
	if err != nil {
		return nil, err
	}
	r := &Report{By: c.By, Target: c.Target, Margin: c.Margin, Confidence: c.Confidence, Settled: true, jobs: jobs,
		test:  certainty.Test{Difference: c.By == byError, Margin: c.Margin, Confidence: c.Confidence},
		order: c.Order, Vary: cmp.Or(jobs[0].Vary, results.VarySystem)}
	for _, b := range blocks {
		if first := r.test.Compare(make([][]certainty.Bounds, len(b.Jobs)), c.Order).Next; first > c.MaxSeeds {
			return nil, config.Problem{Key: "run.certain.max_seeds", Value: c.MaxSeeds,
				Want: fmt.Sprintf("must be at least %d: fewer seeds can never settle %d rows%s", first, len(b.Jobs),
					at(b.Point))}
		}
		values, of := b.races(&c, jobs, runs)
		s := Standing{Block: b, runs: of, outcome: r.test.Settle(values, c.MaxSeeds, c.Order)}
		r.TuningSeeds = max(r.TuningSeeds, b.tuned)
		r.Settled = r.Settled && s.outcome.Settled
		s.fill(r, values)
		r.all = append(r.all, s)
	}
	if r.Blocks = r.all; len(r.all) == 1 {
		r.Standing, r.Blocks = &r.all[0], nil
	}
	return r, nil
}

// fill sets what is told of an outcome.
func (s *Standing) fill(r *Report, values [][]certainty.Bounds) {
	o := &s.outcome
	s.Reason, s.Next = o.Reason, o.Standing.Next
	for i := range o.Taken {
		s.Seeds = append(s.Seeds, s.tuned+uint64(i)+1)
	}
	for i, rank := range o.Ranks {
		row := Row{Label: s.labels[i], RankLow: rank.Low, RankHigh: rank.High}
		row.MedianLow, row.MedianHigh, row.Mean = medians(values[i][:o.Taken])
		if rank.Leader {
			s.Leaders = append(s.Leaders, row.Label)
		}
		s.Rows = append(s.Rows, row)
	}
	test := r.test
	test.Pairs = len(o.Pairs)
	for _, p := range o.Pairs {
		pair := Pair{A: s.labels[p.A], B: s.labels[p.B], Decision: p.Decision,
			Low: p.Interval.Low, High: p.Interval.High,
			Dropped: test.Dropped(o.Taken), SupportsA: p.Votes.A, SupportsB: p.Votes.B}
		pair.MedianLow, pair.MedianHigh, _ = medians(p.Seeds)
		for _, x := range p.Seeds {
			if !x.Known() {
				pair.Censored++
			}
		}
		s.Pairs = append(s.Pairs, pair)
	}
}

// medians returns the medians of the bounds of values, and their mean; NaN: not known.
func medians(of []certainty.Bounds) (low, high, mean float64) {
	var lows, highs []float64
	for _, x := range of {
		lows, highs = append(lows, x.Low), append(highs, x.High)
		if !x.Known() {
			mean = math.NaN()
		}
		mean += x.Low / float64(len(of))
	}
	if len(of) == 0 {
		mean = math.NaN()
	}
	return orderstat.Median(lows), orderstat.Median(highs), mean
}

// Needs returns the runs that are needed before more can be decided: by job, the indices from 0 of their seeds,
// from 1 to before.
func (r *Report) Needs(each func(job, seed int)) {
	for i := range r.all {
		s := &r.all[i]
		if s.outcome.Reason != "" {
			continue
		}
		for _, job := range s.Jobs {
			for k := range s.outcome.Needs {
				each(job, int(s.tuned)+k)
			}
		}
	}
}

// Unrecorded returns an error if a row does not record the metric of the target.
func (r *Report) Unrecorded() error {
	for i := range r.all {
		s := &r.all[i]
		for k, runs := range s.runs {
			for _, run := range runs {
				if _, state := run.Spent(r.Target); r.By != byError && state == results.Uncounted {
					return fmt.Errorf("run %s: does not record %s: no seed can settle row %s: "+
						"choose another run.certain.target",
						run.ID, r.Target.Metric, s.labels[k])
				}
			}
		}
	}
	return nil
}

// Leaders returns who leads in each block by time; no row leads in one that is not settled.
func (r *Report) Leaders() (list []results.Settled) {
	for i := range r.all {
		if s := &r.all[i]; r.By == byTime {
			of := results.Settled{Experiment: s.Experiment, Point: s.Point, Target: r.Target, Confidence: r.Confidence}
			if s.outcome.Settled {
				of.Rows = s.Leaders
			}
			list = append(list, of)
		}
	}
	return list
}

// Caption says in a line what is settled in an experiment, for its figures.
func (r *Report) Caption(experiment string) string {
	var texts []string
	settled := 0
	for i := range r.all {
		if s := &r.all[i]; s.Experiment == experiment {
			texts = append(texts, r.verdict(s))
			if s.outcome.Settled {
				settled++
			}
		}
	}
	if len(texts) != 1 {
		return fmt.Sprintf("settled in %d of %d settings (%g %% each)", settled, len(texts), 100*r.Confidence)
	}
	return texts[0]
}
