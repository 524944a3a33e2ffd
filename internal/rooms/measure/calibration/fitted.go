package calibration

import (
	"fmt"
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
)

// Span is the range of a quantity in the attempts that were fitted.
type Span struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// size is what the time of an attempt depends on.
type size struct {
	name  string // in Calibration.Fitted
	text  string // of values
	of    func(*attemptlog.Attempt) float64
	terms []string // without which times beyond the span are not known
}

var (
	linkTerms = []string{"burst_bytes", "rtt_ms"}
	workTerms = []string{"task_overhead_s", "step_overhead_s", "gflops"}
)

var sizes = []size{
	{"bytes_down", "bytes down", func(a *attemptlog.Attempt) float64 { return a.BytesDown }, linkTerms},
	{"bytes_up", "bytes up", func(a *attemptlog.Attempt) float64 { return a.BytesUp }, linkTerms},
	{"steps", "steps", func(a *attemptlog.Attempt) float64 { return a.Steps }, workTerms},
	{"batch", "rows a batch", func(a *attemptlog.Attempt) float64 { return a.Batch }, workTerms},
	{"flops", "FLOP", (*attemptlog.Attempt).LocalFLOPs, workTerms},
	{"flops_per_step", "FLOP a step", func(a *attemptlog.Attempt) float64 { return a.LocalFLOPs() / a.Steps }, workTerms},
}

// mostBeyond is the largest factor by which a quantity may lie beyond its span without a word.
const mostBeyond = 1.05

// spanOf returns the span of a quantity over attempts of training; ok is false if no attempt has it.
func (q *size) spanOf(runs []*attemptlog.Run) (s Span, ok bool) {
	s = Span{math.Inf(1), math.Inf(-1)}
	for _, r := range runs {
		for i := range r.Attempts {
			if x := q.of(&r.Attempts[i]); r.Attempts[i].Kind == attemptlog.Train && x > 0 && !math.IsInf(x, 0) {
				s.Low, s.High = min(s.Low, x), max(s.High, x)
			}
		}
	}
	return s, s.Low <= s.High
}

// setFitted sets the spans of a log.
func (c *Calibration) setFitted(log *attemptlog.Log) {
	c.Fitted = map[string]Span{}
	for i := range sizes {
		if s, ok := sizes[i].spanOf(log.Runs); ok {
			c.Fitted[sizes[i].name] = s
		}
	}
}

// Beyond says which sizes and work of a run lie beyond what was fitted, and which terms its times need that were not
// identified. Both are empty for a run within it.
func (c *Calibration) Beyond(run *attemptlog.Run) (beyond, missing []string) {
	for i := range sizes {
		q := &sizes[i]
		s, ok := q.spanOf([]*attemptlog.Run{run})
		fitted, known := c.Fitted[q.name]
		switch {
		case !ok || known && s.Low >= fitted.Low/mostBeyond && s.High <= fitted.High*mostBeyond:
			continue
		case known:
			beyond = append(beyond, fmt.Sprintf("%s %s (calibrated: %s)", s, q.text, fitted))
		default:
			beyond = append(beyond, fmt.Sprintf("%s %s (calibrated: not known)", s, q.text))
		}
		for _, m := range c.Missing {
			if slices.Contains(q.terms, m.Term) && !slices.Contains(missing, m.Term) {
				missing = append(missing, m.Term)
			}
		}
	}
	return beyond, missing
}

func (s Span) String() string {
	if s.High <= s.Low*mostBeyond {
		return digits(s.High)
	}
	return digits(s.Low) + " to " + digits(s.High)
}
