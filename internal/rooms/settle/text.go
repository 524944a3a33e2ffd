package settle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// Sections says where each block stands.
func (r *Report) Sections() (list columns.Sections) {
	for i := range r.all {
		list = append(list, r.section(&r.all[i]))
	}
	return list
}

func (r *Report) section(s *Standing) columns.Section {
	var head []string
	if note := r.tuningNote(s); note != "" {
		head = append(head, note)
	}
	if len(r.all) > 1 {
		head = append(head, strings.TrimPrefix(strings.TrimPrefix(s.Experiment+at(s.Point), s.Experiment+" at "), " "))
	}
	section := columns.Section{}
	switch seeds := "seeds " + span(s.Seeds); {
	case len(s.Seeds) == 0:
		head = append(head, fmt.Sprintf("not settled: the first %d seeds are not complete", s.outcome.Needs))
	case len(s.Pairs) == 1:
		head = append(head, seeds+": "+r.pairText(s, &s.Pairs[0]), r.verdict(s))
		section.Notes = append(r.hints(s), r.median(s))
	default:
		head = append(head, seeds+": "+r.verdict(s))
		section.Table, section.Notes = r.table(s), r.hints(s)
	}
	if len(s.Seeds) > 0 {
		section.Notes = slices.DeleteFunc(append(append(section.Notes, r.subject(s)), r.doubts(s)...),
			func(text string) bool { return text == "" })
	}
	section.Title = strings.Join(head, "\n")
	return section
}

// span formats seeds, which have no gaps: "2-8".
func span(seeds []uint64) string {
	if len(seeds) == 0 {
		return ""
	}
	if len(seeds) == 1 {
		return fmt.Sprint(seeds[0])
	}
	return fmt.Sprintf("%d-%d", seeds[0], seeds[len(seeds)-1])
}

// tuningNote says that other options may be better.
func (r *Report) tuningNote(s *Standing) string {
	if s.folds {
		return "note: each seed is tuned by folds of its own training rows, and none for others: all count"
	}
	if !s.tunedTo.IsSet() || s.tuned >= 3 && s.tunedTo == r.Target {
		return ""
	}
	under := "seed 1 alone"
	if s.tuned > 1 {
		under = fmt.Sprintf("seeds 1-%d", s.tuned)
	}
	return fmt.Sprintf("note: tuned under %s (not counted), to %s: other options may be better", under,
		s.tunedTo.Text())
}

// words are how a measure compares rows: "is faster than", "takes 2 times as long as".
var words = map[string]struct{ better, takes, as string }{
	byTime:   {"is faster than", "takes", "times as long as"},
	byBytes:  {"sends less than", "sends", "times as much as"},
	byJoules: {"takes less energy than", "takes", "times the energy of"},
	byError:  {"has less error than", "has an error", "above that of"},
}

// pairText says in which interval the median of a pair is.
func (r *Report) pairText(s *Standing, p *Pair) string {
	low, high := fmt.Sprintf("%.3g", p.Low), fmt.Sprintf("%.3g", p.High)
	amount := low + " to " + high
	switch {
	case (p.Low == 0 || math.IsInf(p.Low, -1)) && math.IsInf(p.High, 1):
		return "not known" + r.endsText(s)
	case math.IsInf(p.Low, 1):
		return p.B + " never reaches it"
	case p.High == 0 && r.By != byError:
		return p.A + " never reaches it"
	case math.IsInf(p.High, 1):
		amount = "at least " + low
	case p.Low == 0 && r.By != byError:
		amount = "at most " + high
	case low == high:
		amount = low
	}
	w := words[r.By]
	return fmt.Sprintf("%s %s %s %s %s", p.B, w.takes, amount, w.as, p.A)
}

// endsText says which rows ended before the target, and when.
func (r *Report) endsText(s *Standing) string {
	for i, runs := range s.runs {
		low, high := math.Inf(1), 0.0
		for _, run := range runs[:len(s.Seeds)] {
			if v := (&Config{By: r.By, Target: r.Target}).value(run); !v.Known() && !math.IsInf(v.Low, 0) {
				low, high = min(low, v.Low), max(high, v.Low)
			}
		}
		if high > 0 {
			return fmt.Sprintf(": %s ended at %s to %s", s.labels[i], r.amount(low, runs[0]), r.amount(high, runs[0]))
		}
	}
	return ""
}

// amount formats a cost, or an error.
func (r *Report) amount(x float64, run *results.Run) string {
	switch r.By {
	case byTime:
		return results.TimeText(x, run.Relative)
	case byBytes:
		return results.Scaled(x, "B")
	case byJoules:
		return results.EnergyText(x, run.Relative)
	default:
		m := results.Main([]results.Run{*run})
		if m.Higher {
			x = -x
		}
		return m.Format(x, run.Real)
	}
}

// percent formats the margin.
func (r *Report) margin() string {
	if r.By == byError {
		return fmt.Sprintf("%g", r.Margin)
	}
	return fmt.Sprintf("%g %%", 100*r.Margin)
}

// verdict says what is settled.
func (r *Report) verdict(s *Standing) string {
	sure, n := fmt.Sprintf("(%g %%)", 100*r.Confidence), len(s.Seeds)
	least := ""
	if r.Margin > 0 {
		least = " by at least " + r.margin()
	}
	switch {
	case !s.outcome.Settled && s.Reason == "":
		return fmt.Sprintf("not settled so far: seeds up to %d are needed", s.tuned+uint64(s.outcome.Needs))
	case s.Reason == certainty.Ended:
		return "not settled: more seeds cannot help"
	case !s.outcome.Settled && len(s.Pairs) == 1:
		p := &s.Pairs[0]
		return fmt.Sprintf("not settled in %d seeds: %s better%s in %d, %s in %d", n, p.A,
			strings.Replace(least, " at least", "", 1), p.SupportsA, p.B, p.SupportsB)
	case !s.outcome.Settled:
		return fmt.Sprintf("not settled in %d seeds", n)
	case len(s.Pairs) > 1 && r.order:
		return fmt.Sprintf("settled: all pairs are decided (%g %%, all %d at once)", 100*r.Confidence, len(s.Pairs))
	case len(s.Pairs) > 1 && len(s.Leaders) == 1:
		return fmt.Sprintf("settled: %s is first (%g %%, all %d pairs at once)", s.Leaders[0], 100*r.Confidence,
			len(s.Pairs))
	case len(s.Pairs) > 1:
		return fmt.Sprintf("settled: %s lead without a difference above %s (%g %%, all %d pairs at once)",
			strings.Join(s.Leaders, ", "), r.margin(), 100*r.Confidence, len(s.Pairs))
	}
	p := &s.Pairs[0]
	switch p.Decision {
	case certainty.A:
		return fmt.Sprintf("settled after %d seeds: %s %s %s%s %s", n, p.A, words[r.By].better, p.B, least, sure)
	case certainty.B:
		return fmt.Sprintf("settled after %d seeds: %s %s %s%s %s", n, p.B, words[r.By].better, p.A, least, sure)
	default:
		return fmt.Sprintf("settled after %d seeds: no difference above %s between %s and %s %s", n, r.margin(),
			p.A, p.B, sure)
	}
}

// hints say what would settle it.
func (r *Report) hints(s *Standing) []string {
	switch {
	case s.Reason == certainty.Ended:
		longest := 0.0
		for _, runs := range s.runs {
			for _, run := range runs {
				if k := len(run.Rounds); k > 0 {
					longest = max(longest, run.Rounds[k-1].TimeS)
				}
			}
		}
		return []string{"give all rows more time: --set run.rounds= --set run.max_time_s=" + results.Upward(2*longest)}
	case s.Reason == certainty.MaxSeeds:
		text := "at this rate no number of seeds is enough"
		if n := r.expected(&s.outcome.Standing); n > 0 {
			text = fmt.Sprintf("at this rate about %d seeds", n)
		}
		if v := s.outcome.Pairs[0].Votes; r.Margin > 0 && v.None < v.Most() {
			text += "; --margin 0 needs fewer"
		}
		return []string{text}
	}
	return nil
}

// expected returns about how many seeds settle a block if the others are like those so far, in two digits; 0: none do.
func (r *Report) expected(s *certainty.Standing) int {
	test, never := r.test, math.MaxInt
	test.Pairs = len(s.Pairs)
	rows, all := make([]int, len(s.Ranks)), 0 // the most of the pairs of each row, in which it must not lose
	most := func(n *int, v certainty.Votes) {
		if x := test.Expected(v); x == 0 {
			*n = never
		} else {
			*n = max(*n, x)
		}
	}
	for _, p := range s.Pairs {
		v := p.Votes
		most(&all, v)
		v.B = 0
		most(&rows[p.A], v)
		v.A, v.B = 0, p.Votes.B
		most(&rows[p.B], v)
	}
	n := slices.Min(rows)
	if r.order {
		n = all
	}
	if n == never {
		return 0
	}
	digits := 1
	for n/digits >= 100 {
		digits *= 10
	}
	return max(s.Next, (n+digits/2)/digits*digits) // no decision can come before Next
}

// Needed says about how many seeds would settle each block of runs that have a few; empty: there are no two rows with
// two seeds.
func Needed(c Config, jobs []Job, runs []results.Run) columns.Sections {
	blocks, err := Blocks(jobs, c.Rows)
	if err != nil {
		return nil // one row
	}
	r := &Report{By: c.By, Margin: c.Margin, test: certainty.Test{Difference: c.By == byError, Margin: c.Margin,
		Confidence: c.Confidence}}
	section := columns.Section{Title: "seeds until it is certain"}
	for i := range blocks {
		b := &blocks[i]
		values, of := b.races(&c, jobs, runs)
		have := len(values[0])
		if have < 2 {
			continue
		}
		s, text := r.test.Compare(values, false), ""
		if len(blocks) > 1 {
			text = strings.TrimSpace(b.Experiment+at(b.Point)) + ": "
		}
		text += fmt.Sprintf("which row is first to %s, by %s (%g %%): ", c.Target.Text(*of[0][0]), r.margin(),
			100*c.Confidence)
		switch n := r.expected(&s); {
		case s.Settled:
			text += fmt.Sprintf("the %d seeds are enough", have)
		case n == 0:
			text += fmt.Sprintf("no number of seeds is enough if others are like these %d", have)
		default:
			text += fmt.Sprintf("about %d seeds, if others are like these %d: fedsim settle", n, have)
		}
		section.Notes = append(section.Notes, text)
	}
	if section.Notes == nil {
		return nil
	}
	return columns.Sections{section}
}

// median has the medians of two rows.
func (r *Report) median(s *Standing) string {
	what := map[string]string{byTime: "time to ", byBytes: "bytes to ", byJoules: "energy to "}[r.By]
	if r.By == byError {
		m := results.Main([]results.Run{*s.runs[0][0]})
		what += m.LabelFor(s.runs[0][0].Real)
	} else {
		what += r.Target.Text(*s.runs[0][0])
	}
	var texts []string
	for i := range s.Rows {
		texts = append(texts, s.Rows[i].Label+" "+r.medianOf(s, i))
	}
	return what + ", medians: " + strings.Join(texts, ", ")
}

func (r *Report) medianOf(s *Standing, row int) string {
	x, run := &s.Rows[row], s.runs[row][0]
	switch {
	case math.IsInf(x.MedianLow, 1):
		return "never"
	case math.IsInf(x.MedianLow, -1):
		return "-"
	case x.MedianLow < x.MedianHigh:
		return "> " + r.amount(x.MedianLow, run)
	default:
		return r.amount(x.MedianLow, run)
	}
}

// table has a line for each row, the first ones first.
func (r *Report) table(s *Standing) columns.Table {
	order := make([]int, len(s.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &s.Rows[a], &s.Rows[b]
		if x.RankLow+x.RankHigh != y.RankLow+y.RankHigh {
			return x.RankLow + x.RankHigh - y.RankLow - y.RankHigh
		}
		return int(math.Copysign(1, x.MedianLow-y.MedianLow))
	})
	first := order[0]
	times := "times "
	if r.By == byError {
		times = "above "
	}
	t := columns.Table{Label: "row",
		Groups: []columns.Group{{Heads: []string{"median", times + s.labels[first], "rank"}}}}
	for _, i := range order {
		rank := fmt.Sprint(s.Rows[i].RankLow)
		if s.Rows[i].RankHigh != s.Rows[i].RankLow {
			rank += fmt.Sprintf("-%d", s.Rows[i].RankHigh)
		}
		t.Add(s.labels[i], r.medianOf(s, i), s.times(i, first, r), rank)
	}
	return t
}

// times formats the interval of a row relative to another.
func (s *Standing) times(row, to int, r *Report) string {
	if row == to || len(s.Seeds) == 0 {
		return ""
	}
	for _, p := range s.outcome.Pairs {
		x := p.Interval
		switch {
		case p.A == to && p.B == row:
		case p.A == row && p.B == to && r.By == byError:
			x = certainty.Bounds{Low: -x.High, High: -x.Low}
		case p.A == row && p.B == to:
			x = certainty.Bounds{Low: 1 / x.High, High: 1 / x.Low}
		default:
			continue
		}
		switch {
		case math.IsInf(x.Low, 1):
			return "never"
		case math.IsInf(x.High, 1) && (x.Low == 0 || math.IsInf(x.Low, -1)):
			return "-"
		case math.IsInf(x.High, 1):
			return fmt.Sprintf("> %.3g", x.Low)
		default:
			return fmt.Sprintf("%.3g to %.3g", x.Low, x.High)
		}
	}
	return ""
}

// subject says what the claim is about.
func (r *Report) subject(s *Standing) string {
	switch given := r.jobs[s.Jobs[0]].Given; {
	case r.Vary == results.VarySystem:
		return "for these data, over draws of the system"
	case r.Vary == results.VaryAll && !given:
		return "over new data and draws of the system"
	default:
		return "for these rows: no number of splits can speak for new rows"
	}
}

// doubts are notes on what medians do not say.
func (r *Report) doubts(s *Standing) (notes []string) {
	for _, p := range s.outcome.Pairs {
		a, b := s.Rows[p.A].Mean, s.Rows[p.B].Mean
		if p.Decision == certainty.A && a > b || p.Decision == certainty.B && a < b {
			notes = append(notes, fmt.Sprintf("note: the mean says otherwise: %s %s, %s %s", s.labels[p.A],
				r.amount(a, s.runs[p.A][0]), s.labels[p.B], r.amount(b, s.runs[p.B][0])))
		}
	}
	same := len(s.Seeds) > 1
	for _, runs := range s.runs {
		for _, run := range runs[:len(s.Seeds)] {
			same = same && run.EventHash == runs[0].EventHash && run.ModelHash == runs[0].ModelHash
		}
	}
	if same {
		notes = append(notes, "note: seeds do not change these runs")
	}
	return notes
}
