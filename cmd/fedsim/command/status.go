package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
	"fedsim/results/rundir"
)

// The exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2  // usage or configuration
	exitStalled     = 3  // a run cannot end: no device can act again, or virtual time is exhausted
	exitUnsettled   = 4  // the seeds that were allowed did not make the results certain
	exitInterrupted = 75 // EX_TEMPFAIL of sysexits.h: resume
)

// status returns the exit status for err.
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
	if errors.Is(err, errUnsettled) {
		return exitUnsettled
	}
	return exitFailed
}

// errUnsettled ends a command whose output names the comparisons that are not settled.
var errUnsettled = errors.New("not settled")

// isStalled reports whether err consists only of stalled runs.
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

// isUsage reports whether err is an error in the command line or the scenario.
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
	usages := []error{rundir.ErrExists, rundir.ErrUnfinished, rundir.ErrForeign, into.ErrOther, into.ErrDriven}
	for _, kind := range directoryKinds {
		usages = append(usages, kind.none)
	}
	return slices.ContainsFunc(usages, func(usage error) bool { return errors.Is(err, usage) })
}

// printNotes prints the notes of a scenario, and what its runs use in place of missing files.
func printNotes(w io.Writer, s *scenario.Scenario) {
	for _, text := range s.DataSources(true) {
		printLine(w, "note: data: "+text, false)
	}
	for _, note := range s.Notes {
		printLine(w, "note: "+note, false)
	}
}

// checkRuns returns the error of runs that would be refused when they begin, and prints notes
// about the others.
func checkRuns(ctx context.Context, w io.Writer, s *scenario.Scenario) error {
	notes, err := experiment.Check(ctx, s.Experiments)
	for _, note := range notes {
		printLine(w, "note: "+note, false)
	}
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", s.Name, err)}
	}
	return nil
}

func printText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func printf(w io.Writer, format string, arguments ...any) error {
	return printText(w, fmt.Sprintf(format, arguments...))
}

// printError prints an error, one line for each problem. A line that does not start
// with a position in a file starts with the name of the program.
func printError(w io.Writer, err error) {
	if err == nil {
		return
	}
	if list, ok := errors.AsType[config.Errors](err); ok {
		for _, located := range list {
			printLine(w, located.Error(), located.Place != config.Place{})
		}
		return
	}
	file := parsedFile(err)
	for text := range strings.SplitSeq(err.Error(), "\n") {
		printLine(w, text, file != "" && strings.HasPrefix(text, file))
	}
}

// parsedFile returns the file of a parse error, or "".
func parsedFile(err error) string {
	if parse, ok := errors.AsType[*input.ParseError](err); ok {
		return parse.File
	}
	return ""
}

// printLine prints a line; positioned reports whether it starts with a position.
func printLine(w io.Writer, text string, positioned bool) {
	if !positioned && !strings.HasPrefix(text, "fedsim ") { // the name of a command
		text = "fedsim: " + text
	}
	// An error of standard error cannot be reported anywhere.
	_, _ = fmt.Fprintln(w, quote.Line(text))
}
