// Package child runs a program that answers lines: fedsim writes a line to its standard
// input, and the program answers with one line on its standard output. Its standard error
// is for people, and is passed on.
//
// The program is the leader of a separate process group, so that Ctrl-C on the terminal does
// not reach it: fedsim decides when it ends. On Linux the kernel kills it when fedsim dies
// of whatever cause; elsewhere it ends at the end of its input.
//
// It must not know the meaning of the lines.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// MaxLine is the usual bound of a response, in bytes.
const MaxLine = 256 << 20

// drain is how long a program may take to exit after it has closed its output, and how
// long output is still read after it has exited. Only a program that left a process of
// its own behind takes longer. Tests shorten it.
var drain = time.Second

// Config describes a program.
type Config struct {
	Command []string  // the program and its arguments
	Env     []string  // additions to the environment, as "KEY=value"
	Stderr  io.Writer // receives its standard error, one Write for each line; nil: dropped
	Prefix  string    // the start of each line of Stderr
	MaxLine int       // most bytes of a response; 0: MaxLine
}

// Process is a running program. Its methods may be called from several goroutines.
type Process struct {
	cmd                   *exec.Cmd
	maxLine               int
	stdin, stdout, stderr *os.File
	turn                  chan struct{} // held by the AskInTurn that is under way, which alone reads output
	output                *output       // standard output
	line                  []byte        // of the request
	exited                chan struct{} // the program has exited and the rest of its group is killed
	heard                 chan struct{} // standard error has ended
	ended                 chan struct{} // both, and its pipe and that of standard input are closed
	tail                  tail          // the last lines of standard error

	mu      sync.Mutex
	asked   int  // number of requests so far
	pending bool // the last of them is under way
	closing bool
	fault   error
	watched context.Context // whose end ends requests
	unwatch func() bool
}

// Start starts a program.
func Start(c Config) (*Process, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("the command is empty")
	}
	p := &Process{
		maxLine: c.MaxLine,
		turn:    make(chan struct{}, 1),
		exited:  make(chan struct{}),
		heard:   make(chan struct{}),
		ended:   make(chan struct{}),
	}
	if p.maxLine == 0 {
		p.maxLine = MaxLine
	}
	p.cmd = exec.Command(c.Command[0], c.Command[1:]...)
	p.cmd.Env = append(p.cmd.Environ(), c.Env...)
	setGroup(p.cmd)
	// Pipes of our own: those of exec end the reading with the program, and may lose its
	// last line.
	var theirs [3]*os.File
	var err error
	open := func(mine, their **os.File, read bool) {
		r, w, opened := os.Pipe()
		if err = errors.Join(err, opened); opened == nil && read {
			*mine, *their = r, w
		} else if opened == nil {
			*mine, *their = w, r
		}
	}
	open(&p.stdin, &theirs[0], false)
	open(&p.stdout, &theirs[1], true)
	open(&p.stderr, &theirs[2], true)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err == nil {
		started := make(chan error)
		go p.run(started)
		err = <-started
	}
	for _, f := range theirs {
		_ = f.Close() // nil if its pipe failed
	}
	if err != nil {
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
			_ = f.Close()
		}
		return nil, err
	}
	p.output = newOutput(p.stdout)
	go p.hear(c.Stderr, c.Prefix)
	return p, nil
}

// run starts the program and waits for its end. The kernel kills the program when the
// thread that started it ends, so the thread must live until then.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // its result is ProcessState
	killGroup(p.cmd) // processes of the program that still run
	close(p.exited)
	time.AfterFunc(drain, func() {
		interrupt(p.stdout)
		_ = p.stderr.Close()
	})
	<-p.heard
	_ = p.stdin.Close()
	_ = p.stderr.Close()
	close(p.ended)
}

// PID returns the process id of the program, which is also the id of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// AskInTurn writes a request, which must have no line break, and returns the response without
// its line break. The caller owns the response. Other callers wait: began is called when they
// have their responses and the request is about to be written. If there is no response within
// timeout (0: no limit) or ctx ends, the program is killed. Every error except that of ctx
// before the request is final: the program is killed, and each later call returns the same
// error, which is an *[ExitError], *[TimeoutError], *[LineError], *[UnaskedError] or that of ctx.
func (p *Process) AskInTurn(ctx context.Context, request []byte, timeout time.Duration, began func()) ([]byte, error) {
	if bytes.IndexByte(request, '\n') >= 0 {
		return nil, errors.New("the request has a line break")
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	if err := p.fault; err != nil || p.closing {
		p.mu.Unlock()
		if err == nil {
			err = errors.New("is closed")
		}
		return nil, err
	}
	p.asked++
	p.pending = true
	turn := p.asked
	p.watch(ctx)
	p.mu.Unlock()
	began()
	if timeout > 0 {
		defer time.AfterFunc(timeout, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.asked == turn && p.pending {
				p.failLocked(&TimeoutError{After: timeout, Stderr: p.tail.lines()})
			}
		}).Stop()
	}
	response, answered := p.exchange(request)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = false
	if !answered {
		return nil, p.fault
	}
	return response, nil
}

// watch makes the end of a context the end of the request that is then under way.
func (p *Process) watch(ctx context.Context) {
	if p.watched == ctx {
		return
	}
	if p.unwatch != nil {
		p.unwatch()
	}
	p.watched = ctx
	p.unwatch = context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.watched == ctx && p.pending {
			p.failLocked(context.Cause(ctx))
		}
	})
}

// mostShort is the most bytes of a request that a pipe takes whole, although nobody reads it.
const mostShort = 4 << 10

// exchange writes a request and reads the response. Without one the process has a fault.
func (p *Process) exchange(request []byte) (response []byte, answered bool) {
	if line := p.output.early(); line != nil {
		p.fail(&UnaskedError{Line: start(line)})
		return nil, false
	}
	began := time.Now()
	p.line = append(append(p.line[:0], request...), '\n')
	sent := make(chan struct{})
	if len(p.line) <= mostShort {
		p.send()
		close(sent)
	} else { // the response is read meanwhile, so that both sides can write more than a pipe holds
		go func() {
			p.send()
			close(sent)
		}()
	}
	line, err := p.output.line(p.maxLine)
	if err != nil {
		p.ends(line, err)
	}
	<-sent
	if err == nil && p.output.more() {
		p.fail(&UnaskedError{})
	}
	p.output.took(time.Since(began))
	return line, err == nil
}

// send writes the line of a request. The reading finds the reason if the program has exited.
func (p *Process) send() {
	if _, err := p.stdin.Write(p.line); err != nil && !p.within(p.exited, drain) {
		p.fail(fmt.Errorf("closed its standard input: %w", err))
	}
}

// fail makes err the error of the process, unless it has one, and kills the program.
func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failLocked(err)
}

func (p *Process) failLocked(err error) {
	if p.fault != nil {
		return
	}
	p.fault = err
	select {
	case <-p.exited:
	default:
		killGroup(p.cmd)
	}
	_ = p.stdin.Close() // ends a write under way
	interrupt(p.stdout)
}

func (p *Process) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault != nil
}

// within waits for a channel to be closed, but no longer than d.
func (p *Process) within(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// Close ends the program. It gives a request under way the time grace, closes the
// program's standard input, and waits for it to exit. After the time grace it sends
// SIGTERM to its process group, after the same time again SIGKILL. The error is an
// *[ExitError] if the program exits with another status than 0, and a *[TimeoutError] if
// it must be killed; nil if an AskInTurn has failed before.
func (p *Process) Close(grace time.Duration) error {
	p.mu.Lock()
	p.closing = true
	fault := p.fault
	if p.unwatch != nil {
		p.unwatch()
	}
	p.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case p.turn <- struct{}{}:
		<-p.turn
		go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // its farewell does no harm
	case <-timer.C:
	}
	_ = p.stdin.Close()
	stuck := !p.within(p.exited, grace)
	if stuck {
		terminateGroup(p.cmd)
		if !p.within(p.exited, grace) {
			killGroup(p.cmd)
		}
	}
	<-p.ended
	_ = p.stdout.Close()
	switch {
	case fault != nil || p.cmd.ProcessState.Success():
		return nil
	case stuck:
		return &TimeoutError{After: grace, Stderr: p.tail.lines(), exit: true}
	default:
		return exitError(p.cmd.ProcessState, "", p.tail.lines())
	}
}
