package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that is canceled by the first SIGINT or SIGTERM.
// After that, and after stop, signals have their default action: the next one kills
// the process. (signal.NotifyContext is not used because its cause does not wrap
// context.Canceled, by which an interrupt is recognized.)
func untilInterrupted(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop = func() {
		signal.Stop(signals)
		cancel()
	}
	go func() {
		select {
		case <-signals:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
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

func (e interrupted) Error() string { return e.outcome }

func (e interrupted) Unwrap() error { return e.cause }
