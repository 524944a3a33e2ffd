package command

import (
	"fedsim/internal/analysis/compare"
	"fedsim/results"
)

// comparisonSummary is the JSON output of fedsim compare (docs/json.md). Fields are added,
// and never renamed or removed.
type comparisonSummary struct {
	Directories []string            `json:"directories"`
	Differing   []differenceSummary `json:"differing"`
	Cases       []caseSummary       `json:"cases"`
	Alone       []aloneSummary      `json:"alone"`
	Files       []string            `json:"files"`
}

// differenceSummary is a setting that differs.
type differenceSummary struct {
	Key    string    `json:"key"`
	Values []*string `json:"values"`
}

// caseSummary is a case that several directories have.
type caseSummary struct {
	Experiment string            `json:"experiment"`
	Method     string            `json:"method"`
	Point      []results.Setting `json:"point"`
	Rows       []sideSummary     `json:"rows"`
}

// sideSummary is a case in one directory.
type sideSummary struct {
	Directory string          `json:"directory"`
	Seeds     []uint64        `json:"seeds"`
	Relative  bool            `json:"relative"`
	Targets   []againstTarget `json:"targets"`
	Metrics   []metricSummary `json:"metrics"`
}

// againstTarget is the cost of a target, compared with that of the first row.
type againstTarget struct {
	Metric       string `json:"metric"`
	Target       number `json:"target"`
	Reached      bool   `json:"reached"`
	ReachedSeeds int    `json:"reached_seeds"`
	Rounds       number `json:"rounds"`
	TimeS        number `json:"time_s"`
	Bytes        number `json:"bytes"`
	EnergyJ      number `json:"energy_j"`
	Ratio        number `json:"ratio"`
	RatioLow     number `json:"ratio_low"`
	RatioHigh    number `json:"ratio_high"`
	RatioSeeds   int    `json:"ratio_seeds"`
	Paired       bool   `json:"paired"`
}

// aloneSummary is a case that only one directory has.
type aloneSummary struct {
	Directory  string            `json:"directory"`
	Experiment string            `json:"experiment"`
	Method     string            `json:"method"`
	Point      []results.Setting `json:"point"`
}

// newComparisonSummary summarizes a comparison and its files.
func newComparisonSummary(c *compare.Comparison, files []string) comparisonSummary {
	sum := comparisonSummary{
		Directories: c.Directories, Differing: []differenceSummary{}, Cases: []caseSummary{},
		Alone: []aloneSummary{}, Files: append([]string{}, files...),
	}
	for _, d := range c.Differing {
		of := differenceSummary{Key: d.Key, Values: make([]*string, len(d.Values))}
		for i := range d.Values {
			if d.Values[i] != "" {
				of.Values[i] = &d.Values[i]
			}
		}
		sum.Differing = append(sum.Differing, of)
	}
	for n, a := range c.Cases {
		of := caseSummary{Experiment: a.Experiment, Method: a.Method, Point: append([]results.Setting{}, a.Point...)}
		for i := range a.Rows {
			of.Rows = append(of.Rows, newSideSummary(c, n, i))
		}
		sum.Cases = append(sum.Cases, of)
	}
	for _, a := range c.Unmatched {
		sum.Alone = append(sum.Alone, aloneSummary{
			Directory: c.Directories[a.Directory], Experiment: a.Label.Experiment, Method: a.Label.Method,
			Point: append([]results.Setting{}, a.Label.Point...),
		})
	}
	return sum
}

func newSideSummary(c *compare.Comparison, of, row int) sideSummary {
	r := &c.Cases[of].Rows[row]
	side := sideSummary{Directory: c.Directories[r.Directory], Seeds: r.Seeds, Relative: r.Relative, Targets: []againstTarget{}, Metrics: []metricSummary{}}
	for _, s := range c.Statistics(of, row) {
		side.Metrics = append(side.Metrics, metricSummary{s.Metric.Name, s.Metric.Unit, s.Metric.Higher, number(s.Value)})
	}
	for i, x := range r.Cells {
		side.Targets = append(side.Targets, againstTarget{
			Metric: c.Targets[i].Metric, Target: number(c.Targets[i].Value), Reached: x.Reached == len(r.Seeds), ReachedSeeds: x.Reached,
			Rounds: number(x.Rounds), TimeS: number(x.TimeS), Bytes: number(x.Bytes), EnergyJ: number(x.EnergyJ),
			Ratio: number(x.Ratio.Value), RatioLow: number(x.Ratio.Low), RatioHigh: number(x.Ratio.High),
			RatioSeeds: x.Ratio.Seeds, Paired: x.Ratio.Paired,
		})
	}
	return side
}
