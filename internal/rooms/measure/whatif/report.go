package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/orderstat"
	"fedsim/plots"
)

// Unchanged is the label of the setting of the log as the model has it.
const Unchanged = "unchanged"

// confidence is that of the order of all rows at once.
const confidence = 0.95

// Report says what changes would bring (docs/reference/json.md).
type Report struct {
	Run      string   `json:"run"`   // whose setting is changed
	Seeds    int      `json:"seeds"` // 1 to so many
	Replayed []Replay `json:"replayed"`
	// Error is the largest |predicted/measured - 1| of the makespans of the logs and of the unchanged setting: rows
	// that are closer are not told apart.
	Error float64 `json:"error"`
	Rows  []Row   `json:"rows"` // the first one is unchanged
	// Certain reports that each pair of rows is in a certain order, or closer than Error with certainty.
	Certain bool     `json:"order_certain"`
	Open    []string `json:"open"` // the other pairs, as texts
}

// Replay is how well the model predicts the run of a log that it was fitted to.
type Replay struct {
	Run        string  `json:"run"`
	MeasuredS  float64 `json:"measured_s"`
	PredictedS float64 `json:"predicted_s"`
	Error      float64 `json:"error"` // predicted/measured - 1
}

// Row is what a change would bring.
type Row struct {
	Change
	TimeS     float64  `json:"time_s"` // to the last round, median over seeds; +Inf: a run stalls
	LowS      float64  `json:"low_s"`  // the least over seeds, less Report.Error
	HighS     float64  `json:"high_s"` // the greatest, plus Report.Error
	Times     float64  `json:"times"`  // those of unchanged: the median ratio of seeds
	TimesLow  float64  `json:"times_low"`
	TimesHigh float64  `json:"times_high"` // of its 95 % interval, for all pairs of rows at once
	Rounds    float64  `json:"rounds"`
	Responses float64  `json:"responses"` // that the server used, mean over seeds
	RankLow   int      `json:"rank_low"`
	RankHigh  int      `json:"rank_high"`
	Same      bool     `json:"same"`   // as unchanged, event by event
	Beyond    []string `json:"beyond"` // sizes and work beyond those of the logs
}

// fill sets what follows from the runs of the rows.
func (r *Report) fill(changes []Change, rows []*row) {
	for _, p := range r.Replayed {
		r.Error = max(r.Error, math.Abs(p.Error))
		if p.Run == r.Run {
			r.Error = max(r.Error, math.Abs(medianOf(rows[0].times)/p.MeasuredS-1))
		}
	}
	test := certainty.Test{Margin: r.Error, Confidence: confidence}
	var values [][]certainty.Bounds
	for i, p := range rows {
		w := Row{Change: Change{Label: Unchanged}, TimeS: medianOf(p.times), LowS: math.Inf(1), Rounds: p.rounds,
			Responses: p.responses, RankLow: 1, RankHigh: len(rows), Times: 1, TimesLow: 1, TimesHigh: 1,
			Same: i > 0 && slices.Equal(p.events, rows[0].events), Beyond: p.beyond}
		if i > 0 {
			w.Change = changes[i-1]
		}
		for _, t := range p.times {
			w.LowS, w.HighS = min(w.LowS, t.Low/(1+r.Error)), max(w.HighS, t.Low*(1+r.Error))
		}
		r.Rows, values = append(r.Rows, w), append(values, p.times)
	}
	s := test.Compare(values, true)
	r.Certain = s.Settled
	for _, p := range s.Pairs {
		a, b := &r.Rows[p.A], &r.Rows[p.B]
		switch p.Decision {
		case certainty.A:
			a.RankHigh, b.RankLow = a.RankHigh-1, b.RankLow+1
		case certainty.B:
			a.RankLow, b.RankHigh = a.RankLow+1, b.RankHigh-1
		case certainty.Open:
			r.Open = append(r.Open, a.Label+" and "+b.Label)
		}
		if p.A == 0 {
			b.Times, b.TimesLow, b.TimesHigh = medianOf(p.Seeds), p.Interval.Low, p.Interval.High
		}
	}
}

// medianOf returns the median of known values.
func medianOf(of []certainty.Bounds) float64 {
	var all []float64
	for _, x := range of {
		all = append(all, x.Low)
	}
	return orderstat.Median(all)
}

// Sections returns the report as text.
func (r *Report) Sections() columns.Sections {
	t := columns.Table{Label: "run " + r.Run, Groups: []columns.Group{
		{Title: "time s", Heads: []string{"median", "from", "to"}},
		{Heads: []string{"times unchanged", "responses", "rank"}},
	}}
	notes := []string{fmt.Sprintf("time: to the end of the last round; from, to: over %d seeds, and by the prediction "+
		"error of %.1f %%; times unchanged: the median of seeds, 95 %% of all pairs at once; responses: that the "+
		"server used", r.Seeds, 100*r.Error)}
	for _, p := range r.Replayed {
		if p.Run == r.Run {
			t.Add("as measured", columns.Significant(p.MeasuredS), "", "", "", "", "")
		}
	}
	for i := range r.Rows {
		w := &r.Rows[i]
		rank, times := fmt.Sprint(w.RankLow), ""
		if w.RankHigh > w.RankLow {
			rank += fmt.Sprintf("-%d", w.RankHigh)
		}
		if i > 0 {
			times = columns.Significant(w.TimesLow)
			if high := columns.Significant(w.TimesHigh); high != times {
				times += " to " + high
			}
		}
		t.Add(w.Label, seconds(w.TimeS), seconds(w.LowS), seconds(w.HighS), times, columns.Significant(w.Responses),
			rank)
		if text := strings.Join(w.Set, ", "); text != "" && len(w.Set) > 1 {
			notes = append(notes, w.Label+": "+text)
		}
		if w.Same {
			notes = append(notes, "note: "+w.Label+": changes nothing")
		}
		if w.Beyond != nil {
			notes = append(notes, "note: "+w.Label+": beyond the logs, so that the error may be larger: "+
				strings.Join(w.Beyond, ", "))
		}
	}
	errors := columns.Table{Label: "prediction error", Groups: []columns.Group{
		{Heads: []string{"measured s", "predicted s", "error %"}}}}
	for _, p := range r.Replayed {
		errors.Add(p.Run, columns.Significant(p.MeasuredS), columns.Significant(p.PredictedS),
			fmt.Sprintf("%+.1f", 100*p.Error))
	}
	order := "order: certain (95 %, all pairs at once); rows of one rank differ by less than the prediction error"
	if !r.Certain {
		order = "order: not certain for " + strings.Join(r.Open, "; ") + ": more seeds, or logs of another day"
	}
	return columns.Sections{{Title: order, Table: t, Notes: notes}, {Table: errors, Notes: []string{
		"the logs played by the model that was fitted to them; runs that it has not seen: docs/real.md"}}}
}

// seconds formats a time.
func seconds(x float64) string {
	if math.IsInf(x, 1) {
		return "never"
	}
	return columns.Significant(x)
}

// Figure draws the time of each row with its interval, below the measured one.
func (r *Report) Figure() (*plots.Picture, error) {
	names, of := []string{"as measured"}, [2]plots.Points{}
	for _, p := range r.Replayed {
		if p.Run == r.Run {
			of[0] = plots.Points{X: []float64{p.MeasuredS}, Y: []float64{0}}
		}
	}
	for i := range r.Rows {
		w := &r.Rows[i]
		names = append(names, w.Label)
		if !math.IsInf(w.HighS, 1) {
			of[1].X, of[1].Y = append(of[1].X, w.TimeS), append(of[1].Y, float64(i+1))
			of[1].Low, of[1].High = append(of[1].Low, w.LowS), append(of[1].High, w.HighS)
		}
	}
	return plots.DrawScatter(plots.Scatter{File: "whatif", Title: "Run " + r.Run + " with changes",
		XLabel: "time to the last round (s)", Series: []string{"measured", "predicted"}, Names: names,
		Note:   fmt.Sprintf("bars: %d seeds, and the prediction error of %.1f %%", r.Seeds, 100*r.Error),
		Panels: []plots.ScatterPanel{{Points: of[:]}}})
}
