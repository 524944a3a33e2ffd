package traces

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"fedsim/engine"
)

// Step is a change point: the value holds from At until the next step of its kind.
type Step struct {
	At    engine.Time
	Value float64
}

// Trace is the recorded behavior of one device.
type Trace struct {
	Name string      // not empty, without comma, quote or line break
	Span engine.Time // end of the trace, which covers [0, Span) and may repeat from there
	// Steps has the change points of each kind in ascending order of time, the first at
	// 0. A kind without steps was not recorded.
	Steps [kinds][]Step
}

// Sequence is a sequence of devices. A trace and its steps are valid until the next one, and
// not beside an error, which ends the sequence.
type Sequence = iter.Seq2[*Trace, error]

// ErrEmpty is the error for a sequence without devices.
var ErrEmpty = errors.New("no traces: must have at least one device")

// Kinds returns the recorded kinds.
func (tr *Trace) Kinds() Kinds {
	var s Kinds
	for k := range tr.Steps {
		if len(tr.Steps[k]) > 0 {
			s = s.with(Kind(k))
		}
	}
	return s
}

// reset makes r the empty trace of a device and reuses its memory.
func (tr *Trace) reset(name string, span engine.Time) {
	tr.Name, tr.Span = name, span
	for k := range tr.Steps {
		tr.Steps[k] = tr.Steps[k][:0]
	}
}

// add appends a step unless the value does not change. It replaces a step at the same
// instant.
func (tr *Trace) add(k Kind, at engine.Time, value float64) {
	steps := tr.Steps[k]
	if n := len(steps); n > 0 && steps[n-1].At == at {
		steps = steps[:n-1]
	}
	if n := len(steps); n == 0 || steps[n-1].Value != value {
		steps = append(steps, Step{at, value})
	}
	tr.Steps[k] = steps
}

// Check returns why the trace is invalid, by the rules of its fields and of each kind.
func (tr *Trace) Check() error {
	if problem := refuseName(tr.Name); problem != "" {
		return errors.New("the device's name " + problem)
	}
	fail := func(format string, arguments ...any) error {
		return &deviceError{tr.Name, fmt.Sprintf(format, arguments...)}
	}
	if tr.Span <= 0 || tr.Span == engine.Never {
		return fail("its trace ends after %v: must be positive and finite", tr.Span)
	}
	if tr.Kinds() == 0 {
		return fail("has no steps: must have at least one")
	}
	for k, steps := range tr.Steps {
		for i, s := range steps {
			if problem := Kind(k).refuse(s.Value); problem != "" {
				return fail("%v = %v at %v: %s", Kind(k), s.Value, s.At, problem)
			}
			switch {
			case i == 0 && s.At != 0:
				return fail("%v begins at %v: must begin at 0", Kind(k), s.At)
			case i > 0 && s.At <= steps[i-1].At:
				return fail("%v changes at %v after %v: times must increase", Kind(k), s.At, steps[i-1].At)
			case s.At >= tr.Span:
				return fail("%v changes at %v: must be before the end of the trace, %v", Kind(k), s.At, tr.Span)
			}
		}
	}
	return nil
}

// refuseName returns why the name of a device is invalid, or "".
func refuseName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes, must have at most %d", len(name), maxName)
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("%q must not begin or end with a blank", name)
	case strings.ContainsAny(name, ",\"\r\n\x00"):
		return fmt.Sprintf("%q must not contain a comma, a quote or a line break", name)
	default:
		return ""
	}
}

const maxName = 256
