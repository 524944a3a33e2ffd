package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// untilInterrupted returns a context that is canceled by the first SIGINT or SIGTERM, which
// writes a line to stderr at once. After that, and after stop, signals have their default
// action: the next one kills the process. (signal.NotifyContext is not used because its cause
// does not wrap context.Canceled, by which an interrupt is recognized.)
func untilInterrupted(parent context.Context, stderr io.Writer) (ctx context.Context, stop func()) {
	pending := &waits{}
	ctx, cancel := context.WithCancel(context.WithValue(parent, waitsKey{}, pending))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop = func() {
		signal.Stop(signals)
		cancel()
	}
	go func() {
		select {
		case <-signals:
			signal.Stop(signals) // even if the line cannot be written
			printLine(stderr, "interrupted: "+pending.text()+"; Ctrl-C (SIGINT) ends fedsim at once", false)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// waits are what an interrupted command waits for before it ends.
type waits struct {
	mu sync.Mutex
	of []func() string
}

// waitsKey is the key of the waits in the context of a command.
type waitsKey struct{}

// waitsFor sets the text that the first interrupt of a command prints: the event it waits for. The
// function is called then, in its own goroutine. It returns a phrase such as "waiting for the
// end of the current rounds", or "" for no text.
func waitsFor(ctx context.Context, say func() string) {
	if w, ok := ctx.Value(waitsKey{}).(*waits); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.of = append(w.of, say)
	}
}

// waitsForRounds is waitsFor of a command that runs scenarios.
func waitsForRounds(ctx context.Context) {
	waitsFor(ctx, func() string { return "waiting for the end of the current rounds, then saving a checkpoint" })
}

// text names the event that the command waits for.
func (w *waits) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var reasons []string
	for _, say := range w.of {
		if text := say(); text != "" {
			reasons = append(reasons, text)
		}
	}
	if len(reasons) == 0 {
		return "stopping"
	}
	return strings.Join(reasons, ", ")
}

// ignoreTerminate makes a second SIGTERM have no effect until the returned function is called.
// Schedulers send several within a moment; the first is the end of the context of the command.
func ignoreTerminate() func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	return func() { signal.Stop(signals) }
}

// interrupted is the error of a command that the user interrupted.
type interrupted struct {
	outcome string
	cause   error
}

func (in interrupted) Error() string { return in.outcome }

func (in interrupted) Unwrap() error { return in.cause }
