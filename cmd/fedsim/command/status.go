package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fedsim/config"
	"fedsim/data"
	"fedsim/devices/traces"
	"fedsim/experiment"
	"fedsim/internal/quote"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// The statuses to exit with.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2  // usage or configuration
	exitStalled     = 3  // a run can never end: no device can act again, or virtual time is over
	exitInterrupted = 75 // EX_TEMPFAIL of sysexits.h: run it again
)

// status returns what to exit with after err.
func status(err error) int {
	if err == nil {
		return exitDone
	}
	if experiment.Interrupted(err) {
		return exitInterrupted
	}
	if isUsage(err) {
		return exitUsage
	}
	if isStalled(err) {
		return exitStalled
	}
	return exitFailed
}

// isStalled reports whether nothing is wrong but that runs stalled.
func isStalled(err error) bool {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 1 {
			_, ok := err.(stalled)
			return ok
		}
		err = joined.Unwrap()[0]
	}
}

// isUsage reports whether the user has to change the command line or the
// scenario.
func isUsage(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[config.Errors](err); ok {
		return true
	}
	if _, ok := errors.AsType[config.Problem](err); ok {
		return true
	}
	return errors.Is(err, rundir.ErrExists) || errors.Is(err, rundir.ErrUnfinished) || errors.Is(err, rundir.ErrForeign)
}

// tell prints the notes of a scenario.
func tell(w io.Writer, s *scenarios.Scenario) {
	for _, note := range s.Notes {
		line(w, "note: "+note, false)
	}
}

// complain writes an error, one line for each thing that is wrong. A line that
// does not open with the place it is about names the program.
func complain(w io.Writer, err error) {
	if err == nil {
		return
	}
	if list, ok := errors.AsType[config.Errors](err); ok {
		for _, located := range list {
			line(w, located.Error(), located.Place != config.Place{})
		}
		return
	}
	file := parsed(err)
	for text := range strings.SplitSeq(err.Error(), "\n") {
		line(w, text, file != "" && strings.HasPrefix(text, file))
	}
}

// parsed returns the file that an error of reading one is about.
func parsed(err error) string {
	if parse, ok := errors.AsType[*data.ParseError](err); ok {
		return parse.File
	}
	if parse, ok := errors.AsType[*traces.ParseError](err); ok {
		return parse.File
	}
	return ""
}

func line(w io.Writer, text string, placed bool) {
	if !placed {
		text = "fedsim: " + text
	}
	// There is nobody left to tell when standard error cannot be written.
	_, _ = fmt.Fprintln(w, quote.Line(text))
}
