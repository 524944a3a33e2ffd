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
	Ahead   int       // how many requests are written before the program has answered the one before them
}

// Process is a running program. Its methods may be called from several goroutines.
type Process struct {
	cmd                   *exec.Cmd
	maxLine               int
	stdin, stdout, stderr *os.File
	places                chan struct{} // of requests under way; the first of them alone reads output
	output                *output       // standard output
	writing               chan struct{} // held while a request is written
	line                  []byte        // of the request that is written
	exited                chan struct{} // the program has exited and the rest of its group is killed
	heard                 chan struct{} // standard error has ended
	ended                 chan struct{} // both, and its pipe and that of standard input are closed
	tail                  tail          // the last lines of standard error

	mu      sync.Mutex
	asked   int           // number of requests so far
	waits   int           // how many of them are under way
	turn    int           // the number of the first of them; 0: none
	last    chan struct{} // closed when the last of them has its response; nil: there was none
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
		places:  make(chan struct{}, 1+c.Ahead),
		writing: make(chan struct{}, 1),
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
// its line break. The caller owns the response. Responses come in the order of requests, of which
// 1 + Ahead are under way at most; other callers wait. began is called when those before have their
// responses. If there is no response within timeout of that (0: no limit) or ctx ends, which must be the same for
// requests at the same time, the program is killed. Every error except that of ctx
// before the request is final: the program is killed, and each later call returns the same
// error, which is an *[ExitError], *[TimeoutError], *[LineError], *[UnaskedError] or that of ctx.
func (p *Process) AskInTurn(ctx context.Context, request []byte, timeout time.Duration, began func()) ([]byte, error) {
	if bytes.IndexByte(request, '\n') >= 0 {
		return nil, errors.New("the request has a line break")
	}
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.places }()
	p.writing <- struct{}{}
	before, answered, turn, err := p.enter(ctx)
	if err != nil {
		<-p.writing
		return nil, err
	}
	defer close(answered)
	sent := p.send(request)
	if before != nil {
		<-before
	}
	p.mu.Lock()
	p.turn = turn
	p.mu.Unlock()
	began()
	if timeout > 0 {
		defer time.AfterFunc(timeout, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.turn == turn {
				p.failLocked(&TimeoutError{After: timeout, Stderr: p.tail.lines()})
			}
		}).Stop()
	}
	response, err := p.receive(sent)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = 0
	p.waits--
	if err != nil || p.fault != nil && cap(p.places) > 1 { // this may be the response to another request
		return nil, p.fault
	}
	return response, nil
}

// enter makes a request the last one under way: before is closed when the one before it has its response (nil: there
// was none), and the caller closes answered when this one has.
func (p *Process) enter(ctx context.Context) (before, answered chan struct{}, turn int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, 0, context.Cause(ctx)
	case p.fault != nil:
		return nil, nil, 0, p.fault
	case p.closing:
		return nil, nil, 0, errors.New("is closed")
	}
	if p.waits == 0 { // nobody reads
		if line := p.output.early(); line != nil {
			p.failLocked(&UnaskedError{Line: start(line)})
			return nil, nil, 0, p.fault
		}
	}
	p.asked++
	p.waits++
	p.watch(ctx)
	before, p.last = p.last, make(chan struct{})
	return before, p.last, p.asked, nil
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
		if p.watched == ctx && p.waits > 0 {
			p.failLocked(context.Cause(ctx))
		}
	})
}

// mostShort is the most bytes of a request that a pipe takes whole, although nobody reads it.
const mostShort = 4 << 10

// send writes a request, and returns a channel that is closed when it is written. The reading finds the reason if the
// program has exited.
func (p *Process) send(request []byte) (sent chan struct{}) {
	p.line = append(append(p.line[:0], request...), '\n')
	sent = make(chan struct{})
	write := func() {
		if _, err := p.stdin.Write(p.line); err != nil && !p.within(p.exited, drain) {
			p.fail(fmt.Errorf("closed its standard input: %w", err))
		}
		<-p.writing
		close(sent)
	}
	if len(p.line) <= mostShort {
		write()
	} else { // responses are read meanwhile, so that both sides can write more than a pipe holds
		go write()
	}
	return sent
}

// receive reads the response to the first request under way, once it is sent. With an error the process has a fault.
func (p *Process) receive(sent chan struct{}) (response []byte, err error) {
	began := time.Now()
	response, err = p.output.line(p.maxLine)
	if err != nil {
		p.ends(response, err)
	}
	<-sent
	p.output.took(time.Since(began))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.waits == 1 && p.output.more() { // there is no request that the rest may answer
		p.failLocked(&UnaskedError{})
	}
	return response, err
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
	if p.idle(timer.C) {
		go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // its farewell does no harm
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

// idle waits until no request is under way, or for the end of a time: then it returns false. No request follows.
func (p *Process) idle(end <-chan time.Time) bool {
	for range cap(p.places) {
		select {
		case p.places <- struct{}{}:
			defer func() { <-p.places }()
		case <-end:
			return false
		}
	}
	return true
}
