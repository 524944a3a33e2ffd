package child

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// Run runs a program that answers nothing, without input, and waits for it. Its standard
// output is dropped. When ctx ends, its process group is asked to end (SIGTERM), and Run
// still waits. The error is an *[ExitError] if the status is not 0. MaxLine is not used.
func Run(ctx context.Context, c Config) error {
	p := &Process{cmd: exec.Command(c.Command[0], c.Command[1:]...), heard: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Environ(), c.Env...)
	setGroup(p.cmd)
	var theirs *os.File
	var err error
	if p.stderr, theirs, err = os.Pipe(); err != nil {
		return err
	}
	defer func() { _ = p.stderr.Close() }()
	p.cmd.Stderr = theirs
	runtime.LockOSThread() // as in run
	defer runtime.UnlockOSThread()
	err = p.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return err
	}
	go p.hear(c.Stderr, c.Prefix)
	stop := context.AfterFunc(ctx, func() { terminateGroup(p.cmd) })
	_ = p.cmd.Wait() // its result is ProcessState
	stop()
	killGroup(p.cmd) // what the program has left behind
	p.within(p.heard, drain)
	if p.cmd.ProcessState.Success() {
		return nil
	}
	return exitError(p.cmd.ProcessState, "", p.tail.lines())
}
