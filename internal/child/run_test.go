//go:build unix

package child

import (
	"context"
	"errors"
	"os"
	"testing"
)

// running is the description of a program of the tests, for Run.
func running(play string) Config {
	return Config{Command: []string{os.Args[0]}, Env: []string{role + "=" + play}}
}

func TestRun(t *testing.T) {
	if err := Run(t.Context(), running("echo")); err != nil {
		t.Error(err)
	}
	err := Run(t.Context(), running("exit"))
	if e, ok := errors.AsType[*ExitError](err); !ok || e.Code != 3 || len(e.Stderr) != 2 || e.Stderr[1] != `ValueError: no such \rthing` {
		t.Errorf("%#v", err)
	}
	if err := Run(t.Context(), Config{Command: []string{"/no/such/program"}}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// The end of the context asks the program to end, and Run returns its status.
func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := running("worker")
	c.Stderr = onWrite(cancel)
	err := Run(ctx, c)
	if e, ok := errors.AsType[*ExitError](err); !ok || e.Code != 75 {
		t.Error(err)
	}
}

// A program leaves no process behind, and one that does cannot delay the end.
func TestRunEndsTheGroup(t *testing.T) {
	if err := Run(t.Context(), running("parent")); err != nil {
		t.Error(err)
	}
}

type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}
