package driven

import "strings"

// Code is the kind of an error in a response.
type Code string

// The codes. Those of a session.Error are passed on: past, unknown-id,
// duplicate-id, device, value, round, open-work, policy, stalled, interrupted.
const (
	CodeSyntax       Code = "syntax"        // the line is not one JSON object
	CodeTooLong      Code = "too-long"      // the line has more than MaxLine bytes
	CodeUnknownOp    Code = "unknown-op"    // there is no such op
	CodeUnknownField Code = "unknown-field" // the op has no such field
	CodeType         Code = "type"          // a field is missing, or has another type or range
	CodeOrder        Code = "order"         // the op cannot come now: hello is first, and once
	CodeMetric       Code = "metric"        // a metric cannot be stored
	CodeVersion      Code = "version"       // no version in common; fatal
	CodeScenario     Code = "scenario"      // the scenario is wrong; fatal
	CodeDirectory    Code = "directory"     // the run directory cannot be used; fatal
	CodeDiverged     Code = "diverged"      // a resumed run gets other lines than before; fatal
	CodeInternal     Code = "internal"      // results cannot be written; fatal
	CodeInterrupted  Code = "interrupted"   // a signal ended the op; fatal
)

// Error is an error in a response.
type Error struct {
	Code    Code
	Field   string // path of the wrong value, as msgs[3].flops; empty: the line
	Message string
	Fatal   bool // the run has ended
	Cause   error

	op string
}

// Error returns the error in one line: the op, the field and the problem.
func (e *Error) Error() string {
	var parts []string
	for _, part := range []string{e.op, e.Field, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
