package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that the first interrupt or request to
// terminate cancels. From then on, and after stop, signals act as usual: the
// next one kills the process. (The cause of signal.NotifyContext does not wrap
// context.Canceled, by which others know an interrupt.)
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

// interrupted says what became of a run that the user stopped.
type interrupted struct {
	outcome string
	cause   error
}

func (e interrupted) Error() string { return e.outcome }

func (e interrupted) Unwrap() error { return e.cause }
