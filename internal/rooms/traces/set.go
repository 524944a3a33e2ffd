package traces

import (
	"fmt"
	"slices"

	"fedsim/engine"
)

// Set has the traces of several devices, numbered from 0 in the order of their file. All
// have the same kinds. A set does not change.
type Set struct {
	names  []string
	spans  []engine.Time
	kinds  Kinds
	series [kinds]series
}

// series has the step functions of one kind. Those of trace i are
// times[first[i]:first[i+1]], and consecutive values differ. Numbers have values beside
// the times, and a step at 0. A binary value starts off and is toggled at each time.
type series struct {
	first  []int
	times  []engine.Time
	values []float64
}

// Collect packs a sequence into a set. It returns the first error of the sequence or of
// [Trace.Check]. It also fails if two devices have the same name, if their kinds differ,
// and if there is no device.
func Collect(seq Sequence) (*Set, error) {
	s := &Set{}
	var err error
	s.kinds, err = eachOf(seq, func(r *Trace) error { s.add(r); return nil })
	if err != nil {
		return nil, err
	}
	for k := range s.series {
		s.series[k].times = slices.Clip(s.series[k].times)
		s.series[k].values = slices.Clip(s.series[k].values)
	}
	return s, nil
}

func (s *Set) add(r *Trace) {
	s.names = append(s.names, r.Name)
	s.spans = append(s.spans, r.Span)
	for k := range s.series {
		x := &s.series[k]
		if len(x.first) == 0 {
			x.first = append(x.first, 0)
		}
		if Kind(k).Binary() {
			on := 0.0
			for _, step := range r.Steps[k] {
				if step.Value != on {
					x.times = append(x.times, step.At)
					on = step.Value
				}
			}
		} else {
			for i, step := range r.Steps[k] {
				if i == 0 || step.Value != x.values[len(x.values)-1] {
					x.times = append(x.times, step.At)
					x.values = append(x.values, step.Value)
				}
			}
		}
		x.first = append(x.first, len(x.times))
	}
}

// of returns the change points of a trace, and the values of a number.
func (s *series) of(trace int) (times []engine.Time, values []float64) {
	from, to := s.first[trace], s.first[trace+1]
	if s.values != nil {
		values = s.values[from:to]
	}
	return s.times[from:to], values
}

// Len returns the number of traces.
func (s *Set) Len() int { return len(s.names) }

// Kinds returns the kinds of the traces.
func (s *Set) Kinds() Kinds { return s.kinds }

// Name returns the name of a trace's device.
func (s *Set) Name(trace int) string { return s.names[trace] }

// Traces returns the traces as a sequence, as if read from a file.
func (s *Set) Traces() Sequence {
	return func(yield func(*Trace, error) bool) {
		r := &Trace{}
		for i := range s.names {
			r.reset(s.names[i], s.spans[i])
			for k := range s.series {
				if !s.kinds.Has(Kind(k)) {
					continue
				}
				times, values := s.series[k].of(i)
				if Kind(k).Binary() {
					r.add(Kind(k), 0, 0)
				}
				for j, at := range times {
					if values == nil {
						r.add(Kind(k), at, float64((j+1)&1))
					} else {
						r.add(Kind(k), at, values[j])
					}
				}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// rules checks the traces of a sequence and compares them.
type rules struct {
	kinds Kinds
	first string // name of the first device
	taken map[string]struct{}
}

func newRules() *rules { return &rules{taken: map[string]struct{}{}} }

// eachOf calls use for the traces of a sequence, of which there must be one, and returns their
// kinds. It returns the first error of the sequence, of the rules or of use.
func eachOf(seq Sequence, use func(*Trace) error) (Kinds, error) {
	rules := newRules()
	for r, err := range seq {
		if err == nil {
			err = rules.admit(r)
		}
		if err == nil {
			err = use(r)
		}
		if err != nil {
			return 0, err
		}
	}
	if rules.first == "" {
		return 0, ErrEmpty
	}
	return rules.kinds, nil
}

// deviceError is an error in the trace of a device.
type deviceError struct{ device, problem string }

func (e *deviceError) Error() string { return fmt.Sprintf("device %q: %s", e.device, e.problem) }

// admit returns why the next trace is invalid.
func (ru *rules) admit(r *Trace) error {
	if err := r.Check(); err != nil {
		return err
	}
	if _, ok := ru.taken[r.Name]; ok {
		return &deviceError{r.Name, "has two traces: must have one, with consecutive rows"}
	}
	ru.taken[r.Name] = struct{}{}
	switch {
	case ru.first == "":
		ru.first, ru.kinds = r.Name, r.Kinds()
	case r.Kinds() != ru.kinds:
		return &deviceError{r.Name,
			fmt.Sprintf("has %v, and device %q has %v: all devices must have the same kinds", r.Kinds(), ru.first,
				ru.kinds)}
	}
	return nil
}
