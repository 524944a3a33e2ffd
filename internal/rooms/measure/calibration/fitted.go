package calibration

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
)

// Span is the range of a quantity in the attempts that were fitted.
type Span struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// size has the quantities on which the time of an attempt depends.
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
	{"flops_per_step", "FLOP a step", func(a *attemptlog.Attempt) float64 { return a.LocalFLOPs() / a.Steps },
		workTerms},
}

// mostBeyond is the largest factor by which a quantity may lie beyond its span without a word.
const mostBeyond = 1.05

// spanOf returns the span of a quantity over attempts of training; ok is false if no attempt has it.
func (si *size) spanOf(runs []*attemptlog.Run) (s Span, ok bool) {
	s = Span{math.Inf(1), math.Inf(-1)}
	for _, r := range runs {
		for i := range r.Attempts {
			if x := si.of(&r.Attempts[i]); r.Attempts[i].Kind == attemptlog.Train && x > 0 && !math.IsInf(x, 0) {
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

// Needs returns Beyond of a run that changes another one: of a quantity that the log does not have, the span is that of
// the unchanged run. It adds the terms that the times of any run need, the rates of computing and of both links of each
// client. Terms have the reason why they are not known.
func (c *Calibration) Needs(run, unchanged *attemptlog.Run) (beyond, missing []string) {
	spans := maps.Clone(c.Fitted)
	for i := range sizes {
		s, ok := sizes[i].spanOf([]*attemptlog.Run{unchanged})
		if _, known := spans[sizes[i].name]; ok && !known {
			spans[sizes[i].name] = s
		}
	}
	beyond, terms := (&Calibration{Fitted: spans, Missing: c.Missing}).Beyond(run)
	in := c.index()
	for i := range run.Attempts {
		p := in.predict(&run.Attempts[i])
		for _, part := range []struct {
			of   float64
			term string
		}{{p.Compute, "gflops"}, {p.Download, "down_mbps"}, {p.Upload, "up_mbps"}} {
			if math.IsNaN(part.of) && !slices.Contains(terms, part.term) {
				terms = append(terms, part.term)
			}
		}
	}
	said := map[string]bool{}
	for _, term := range terms {
		i := slices.IndexFunc(c.Missing, func(m Missing) bool { return m.Term == term })
		if i >= 0 && !said[c.Missing[i].Why] {
			said[c.Missing[i].Why] = true
			term += " (" + c.Missing[i].Why + ")"
		}
		missing = append(missing, term)
	}
	return beyond, missing
}
