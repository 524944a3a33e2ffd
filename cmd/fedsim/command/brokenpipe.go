//go:build !js

package command

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipe makes a write to a pipe without a reader an error, not a signal.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }
