package child

import (
	"fmt"
	"os"
	"time"

	"fedsim/internal/tools/quote"
)

// ExitError reports that the program has exited.
type ExitError struct {
	Code   int      // its exit status; -1 if a signal killed it
	Signal string   // that signal, or ""
	Half   string   // the start of the half line that it wrote last, or ""
	Stderr []string // the last lines of its standard error, without control characters
}

func exitError(s *os.ProcessState, half string, stderr []string) *ExitError {
	return &ExitError{Code: s.ExitCode(), Signal: signalOf(s), Half: half, Stderr: stderr}
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("exited with status %d", e.Code)
	if e.Signal != "" {
		text = "was killed by the signal " + e.Signal
	}
	if e.Half != "" {
		text += ", after half a line: " + quote.Text(e.Half)
	}
	return text + lastLine(e.Stderr)
}

// TimeoutError reports that the program did not answer, or did not exit, in time.
type TimeoutError struct {
	After  time.Duration
	Stderr []string // the last lines of its standard error, without control characters
	exit   bool
}

func (e *TimeoutError) Error() string {
	what := "did not answer in "
	if e.exit {
		what = "did not exit at the end of its input in "
	}
	return what + e.After.String() + lastLine(e.Stderr)
}

// LineError reports a response that is too long.
type LineError struct {
	Most  int    // bytes of a response
	Start string // of the response
}

func (e *LineError) Error() string {
	return fmt.Sprintf("wrote a line of more than %d bytes, which starts with %s", e.Most, quote.Text(e.Start))
}

// UnaskedError reports output without a request: before the first, or a second line
// after a response.
type UnaskedError struct {
	Line string // its start, or "" if it was not read
}

func (e *UnaskedError) Error() string {
	if e.Line == "" {
		return "wrote more than one line for a request"
	}
	return "wrote a line without a request: " + quote.Text(e.Line)
}

// lastLine returns the end of an error: the last line of standard error.
func lastLine(stderr []string) string {
	if len(stderr) == 0 {
		return ""
	}
	return "; the last line of its standard error: " + quote.Cut(stderr[len(stderr)-1])
}
