//go:build unix

package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
)

// role is the environment variable that makes the test binary one of the programs below.
const role = "FEDSIM_CHILD_ROLE"

func TestMain(m *testing.M) {
	if play, ok := roles[os.Getenv(role)]; ok {
		play(bufio.NewReaderSize(os.Stdin, 1<<20))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// roles are the programs of the tests.
var roles = map[string]func(*bufio.Reader){
	"echo": func(in *bufio.Reader) {
		_, _ = io.Copy(os.Stdout, in)
	},
	"in pairs": func(in *bufio.Reader) {
		for {
			first, _ := in.ReadString('\n')
			second, err := in.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Print(first + second)
		}
	},
	"identity": func(in *bufio.Reader) {
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			fmt.Println(os.Getpid(), syscall.Getpgrp(), os.Getenv("GREETING"))
		}
	},
	"exit": func(in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		fmt.Fprintln(os.Stderr, "Traceback: \x1b[2J")
		fmt.Fprint(os.Stderr, "ValueError: no such \rthing")
		os.Exit(3)
	},
	"answer and exit": func(in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		fmt.Println("last")
		os.Exit(4)
	},
	"half": func(in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		fmt.Print("{\"flops\":")
	},
	"hang": func(in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		fmt.Fprintln(os.Stderr, "working")
		forever()
	},
	"deaf": func(*bufio.Reader) { forever() },
	"garbage": func(in *bufio.Reader) {
		block := bytes.Repeat([]byte("g"), 1<<16)
		for {
			if _, err := os.Stdout.Write(block); err != nil {
				return
			}
		}
	},
	"twice": func(in *bufio.Reader) {
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			fmt.Print("one\ntwo\n")
		}
	},
	"chatty": func(in *bufio.Reader) {
		fmt.Println("Loading the data ...")
		_, _ = io.Copy(os.Stdout, in)
	},
	"early": func(in *bufio.Reader) { // writes more than a pipe holds before it reads
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("e"), 1<<20))
		_, _ = in.ReadString('\n')
		fmt.Println()
	},
	"no output": func(in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		_ = os.Stdout.Close()
		forever()
	},
	"no input": func(*bufio.Reader) {
		_ = os.Stdin.Close()
		fmt.Fprintln(os.Stderr, "closed")
		forever()
	},
	"errors": func(in *bufio.Reader) {
		for i := range 12 {
			fmt.Fprintf(os.Stderr, "line %d\r\n\n", i)
		}
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 100_000))
		_, _ = in.ReadString('\n')
		os.Exit(1)
	},
	"polite": func(in *bufio.Reader) { // ends of SIGTERM only
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		_, _ = in.ReadString('\n')
		fmt.Println("ready")
		<-c
		os.Exit(9)
	},
	"stubborn": func(in *bufio.Reader) {
		signal.Ignore(syscall.SIGTERM)
		_, _ = in.ReadString('\n')
		fmt.Println("ready")
		forever()
	},
	"parent": func(in *bufio.Reader) { // leaves a process with its output behind
		_, _ = in.ReadString('\n')
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=deaf")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		_, _ = in.ReadString('\n')
	},
	"runaway": func(in *bufio.Reader) { // likewise, in a session of its own
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=deaf")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_, _ = in.ReadString('\n')
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		_, _ = in.ReadString('\n')
	},
	"starter": func(in *bufio.Reader) { // a fedsim: prints the id of its program, and waits
		p, err := Start(Config{Command: os.Args[:1], Env: []string{role + "=deaf"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
		_, _ = in.ReadString('\n')
		forever()
	},
}

// launch starts a program of the tests, and checks at the end that nothing of it is left.
func launch(t *testing.T, name string, change ...func(*Config)) *Process {
	t.Helper()
	before := runtime.NumGoroutine()
	c := Config{Command: []string{os.Args[0]}, Env: []string{role + "=" + name}}
	for _, f := range change {
		f(&c)
	}
	p := expect.Value(Start(c))(t)
	t.Cleanup(func() {
		_ = p.Close(0)
		until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
	})
	return p
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 60_000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

// hurry shortens drain, for programs that make fedsim wait for all of it.
func hurry(t *testing.T) {
	usual := drain
	drain = 20 * time.Millisecond
	t.Cleanup(func() { drain = usual })
}

// noTurn hears that the turn of a request has come.
func noTurn() {}

func ask(t *testing.T, p *Process, request string) string {
	t.Helper()
	response := expect.Value(p.AskInTurn(t.Context(), []byte(request), 0, noTurn))(t)
	return string(response)
}

// failing asks, and returns an error of type E.
func failing[E error](t *testing.T, p *Process, timeout time.Duration) E {
	t.Helper()
	response, err := p.AskInTurn(t.Context(), []byte("x"), timeout, noTurn)
	e, ok := errors.AsType[E](err)
	expect.Must(t, ok, "response %q, error %v", response, err)
	_, again := p.AskInTurn(t.Context(), []byte("y"), 0, noTurn)
	expect.That(t, again == err, "the next error is %v, must be %v", again, err)
	return e
}

func TestAsk(t *testing.T) {
	p := launch(t, "echo")
	for _, request := range []string{"", "a", `{"op":"hello"}`, strings.Repeat("long ", 1<<20)} {
		got := ask(t, p, request)
		expect.That(t, got == request, "%d bytes for %d", len(got), len(request))
	}
	if _, err := p.AskInTurn(t.Context(), []byte("a\nb"), 0, noTurn); err == nil {
		t.Error("a request with a line break is accepted")
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			request := fmt.Sprint(i)
			response, err := p.AskInTurn(t.Context(), []byte(request), 0, noTurn)
			expect.That(t, err == nil && string(response) == request, "%s: %q, %v", request, response, err)
		})
	}
	all.Wait()
	if err := p.Close(time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := p.AskInTurn(t.Context(), []byte("x"), 0, noTurn); err == nil {
		t.Error("a closed process answers")
	}
	if err := p.Close(time.Minute); err != nil {
		t.Error(err)
	}
}

// The second request is written before the program has answered the first, and each caller has its own response.
func TestAskAhead(t *testing.T) {
	ahead := func(c *Config) { c.Ahead = 1 }
	p := launch(t, "in pairs", ahead) // it answers two requests at a time
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			request := fmt.Sprint(i, strings.Repeat(" long", i%2<<12))
			response, err := p.AskInTurn(t.Context(), []byte(request), time.Minute, noTurn)
			same := err == nil && string(response) == request
			expect.That(t, same, "%d bytes for %.9s, %v", len(response), request, err)
		})
	}
	all.Wait()

	p = launch(t, "twice", ahead) // a line too many might be the response to the next request
	response, err := p.AskInTurn(t.Context(), []byte("x"), 0, noTurn)
	_, ok := errors.AsType[*UnaskedError](err)
	expect.That(t, ok, "response %q, error %v", response, err)

	p = launch(t, "hang", ahead) // the time of a request begins when the one before it is answered
	errs := make([]error, 2)
	for i := range errs {
		all.Go(func() { _, errs[i] = p.AskInTurn(t.Context(), []byte("x"), 50*time.Millisecond, noTurn) })
	}
	all.Wait()
	_, ok = errors.AsType[*TimeoutError](errs[0])
	expect.That(t, ok && errs[0] == errs[1], "errors %v and %v", errs[0], errs[1])
}

func TestProgramsHaveTheirOwnGroupAndEnvironment(t *testing.T) {
	p := launch(t, "identity", func(c *Config) { c.Env = append(c.Env, "GREETING=hi") })
	got, want := ask(t, p, ""), fmt.Sprintf("%d %d hi", p.PID(), p.PID())
	expect.That(t, got == want, "got %s, want %s", got, want)
}

func TestStartFails(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, command := range [][]string{nil, {"no-such-program-of-fedsim"}, {"./absent"}} {
		_, err := Start(Config{Command: command})
		expect.That(t, err != nil, "%q starts", command)
	}
	until(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestExit(t *testing.T) {
	var log bytes.Buffer
	p := launch(t, "exit", func(c *Config) { c.Stderr, c.Prefix = &log, "learner: " })
	e := failing[*ExitError](t, p, 0)
	if e.Code != 3 || e.Signal != "" ||
		!slices.Equal(e.Stderr, []string{`Traceback: \x1b[2J`, `ValueError: no such \rthing`}) {
		t.Errorf("%+v", e)
	}
	if want :=
		`exited with status 3; the last line of its standard error: ValueError: no such \rthing`; e.Error() != want {
		t.Errorf("%s, want %s", e, want)
	}
	if want := "learner: Traceback: \\x1b[2J\nlearner: ValueError: no such \\rthing\n"; log.String() != want {
		t.Errorf("%q, want %q", log.String(), want)
	}
}

func TestSignal(t *testing.T) {
	p := launch(t, "hang")
	expect.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	e := failing[*ExitError](t, p, 0)
	expect.That(t, e.Signal == "killed" && e.Error() == "was killed by the signal killed", "%+v: %s", e, e)
}

// The response before the exit is not lost.
func TestLastResponse(t *testing.T) {
	p := launch(t, "answer and exit")
	got := ask(t, p, "x")
	expect.That(t, got == "last", "got %q", got)
	e := failing[*ExitError](t, p, 0)
	expect.That(t, e.Code == 4, "%+v", e)
}

func TestHalfLine(t *testing.T) {
	e := failing[*ExitError](t, launch(t, "half"), 0)
	want := `exited with status 0, after half a line: "{\"flops\":"`
	expect.That(t, e.Error() == want, "%s, want %s", e, want)
}

func TestTimeout(t *testing.T) {
	p := launch(t, "hang")
	if e := failing[*TimeoutError](t, p, time.Millisecond); e.After != time.Millisecond ||
		!strings.HasPrefix(e.Error(), "did not answer in 1ms") {
		t.Errorf("%s", e)
	}
}

// A write that nobody reads ends with the time as well.
func TestTimeoutOfWrite(t *testing.T) {
	p := launch(t, "deaf")
	_, err := p.AskInTurn(t.Context(), make([]byte, 1<<20), 10*time.Millisecond, noTurn)
	_, ok := errors.AsType[*TimeoutError](err)
	expect.That(t, ok, "%v", err)
}

func TestCancel(t *testing.T) {
	p := launch(t, "hang")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	go func() {
		until(t, "the program works", func() bool { return len(p.tail.lines()) > 0 })
		cancel(cause)
	}()
	_, err := p.AskInTurn(ctx, []byte("x"), 0, noTurn)
	expect.That(t, err == cause, "got %v", err)
	_, err = p.AskInTurn(t.Context(), []byte("x"), 0, noTurn)
	expect.That(t, err == cause, "then %v", err)
}

// A context that has ended before the request does no harm.
func TestCanceledBefore(t *testing.T) {
	p := launch(t, "echo")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.AskInTurn(ctx, []byte("x"), 0, noTurn)
	expect.That(t, err == context.Canceled, "got %v", err)
	got := ask(t, p, "y")
	expect.That(t, got == "y", "got %q", got)
}

func TestLongLine(t *testing.T) {
	p := launch(t, "garbage", func(c *Config) { c.MaxLine = 1 << 20 })
	// The garbage may come before the request.
	if e := failing[*LineError](t, p, 0); e.Most != 1<<20 || !strings.HasPrefix(e.Start, "gggg") ||
		len(e.Error()) > 300 {
		t.Errorf("%+v", e)
	}
	long := strings.Repeat("a", 1<<20)
	p = launch(t, "echo", func(c *Config) { c.MaxLine = 1 << 20 })
	got := ask(t, p, long)
	expect.That(t, got == long, "a line of the greatest length is cut")
}

func TestTwoLines(t *testing.T) {
	p := launch(t, "twice")
	got := ask(t, p, "x")
	expect.That(t, got == "one", "got %q", got)
	e := failing[*UnaskedError](t, p, 0)
	expect.That(t, e.Error() == "wrote more than one line for a request", "%s", e)
}

func TestUnasked(t *testing.T) {
	p := launch(t, "chatty")
	until(t, "the line arrives", func() bool { return p.output.early() != nil })
	e := failing[*UnaskedError](t, p, 0)
	expect.That(t, e.Error() == `wrote a line without a request: "Loading the data ..."`, "%s", e)
}

// A program that writes before it has read everything stops neither side.
func TestWriteAndReadAtOnce(t *testing.T) {
	p := launch(t, "early")
	got := ask(t, p, strings.Repeat("r", 1<<22))
	expect.That(t, got == strings.Repeat("e", 1<<20), "%d bytes", len(got))
}

func TestClosedOutput(t *testing.T) {
	hurry(t)
	e := failing[error](t, launch(t, "no output"), 0)
	expect.That(t, e.Error() == "closed its standard output and did not exit", "%v", e)
}

func TestClosedInput(t *testing.T) {
	hurry(t)
	p := launch(t, "no input")
	until(t, "the program closes its input", func() bool { return len(p.tail.lines()) > 0 })
	e := failing[error](t, p, 0)
	expect.That(t, strings.HasPrefix(e.Error(), "closed its standard input: "), "%v", e)
}

func TestStandardError(t *testing.T) {
	var log bytes.Buffer
	p := launch(t, "errors", func(c *Config) { c.Stderr, c.Prefix = &log, "> " })
	e := failing[*ExitError](t, p, 0)
	expect.That(t, len(e.Stderr) == mostTail && e.Stderr[0] == "line 3" && len(e.Error()) <= 200,
		"%d lines from %q: %s", len(e.Stderr), e.Stderr[0], e)
	lines := strings.Split(log.String(), "\n")
	expect.That(t, len(lines) == 26 && lines[0] == "> line 0" && lines[1] == "> " && len(lines[24]) <= 2100,
		"%d lines: %.200q", len(lines), lines)
}

func TestCloseTerminates(t *testing.T) {
	p := launch(t, "polite")
	ask(t, p, "x")
	err := p.Close(50 * time.Millisecond)
	if _, ok := errors.AsType[*TimeoutError](err); !ok ||
		err.Error() != "did not exit at the end of its input in 50ms" {
		t.Errorf("%v", err)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 9 && code != -1 { // -1: a machine too busy for 50 ms
		t.Errorf("status %d", code)
	}
}

func TestCloseKills(t *testing.T) {
	p := launch(t, "stubborn")
	ask(t, p, "x")
	err := p.Close(time.Millisecond)
	expect.That(t, err != nil, "no error")
	s := signalOf(p.cmd.ProcessState)
	expect.That(t, s == "killed", "ended by %q", s)
}

func TestCloseEndsRequests(t *testing.T) {
	p := launch(t, "hang")
	failed := make(chan error)
	go func() {
		_, err := p.AskInTurn(t.Context(), []byte("x"), 0, noTurn)
		failed <- err
	}()
	until(t, "the program works", func() bool { return len(p.tail.lines()) > 0 })
	_ = p.Close(time.Millisecond)
	_, ok := errors.AsType[*ExitError](<-failed)
	expect.That(t, ok, "the request was not ended by the exit")
}

// A program that exits ends the request, even if a process that it left behind holds its
// output open.
func TestRunaway(t *testing.T) {
	hurry(t)
	p := launch(t, "runaway")
	var id int
	expect.Value(fmt.Sscan(ask(t, p, "x"), &id))(t)
	defer func() { _ = syscall.Kill(id, syscall.SIGKILL) }()
	e := failing[*ExitError](t, p, 0)
	expect.That(t, e.Code == 0, "%v", e)
}

// forever does not return. (An empty select ends a program without other goroutines.)
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
