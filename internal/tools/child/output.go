package child

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"fedsim/internal/tools/pipe"
	"fedsim/internal/tools/quote"
)

// output is standard output. One goroutine at a time uses it.
type output struct {
	file  *os.File
	lines *bufio.Reader // of Read
	raw   syscall.RawConn
	look  func(fd uintptr) bool // without waiting; see nonblock_unix.go

	// patience is how long Read looks for output again and again before it sleeps: a thread that has
	// slept wakes late. It is 0 where the last answer took longer.
	patience time.Duration
	into     []byte // of look
	n        int    // bytes that it has read
	first    [400]byte
	kept     []byte // of first: output before a request
}

// mostPatience is the most time of a core that is spent on looking for an answer.
const mostPatience = 50 * time.Microsecond

func newOutput(file *os.File) *output {
	o := &output{file: file}
	o.lines = bufio.NewReaderSize(o, 64<<10)
	o.raw, _ = file.SyscallConn() // a new file has one
	o.look = o.readNow
	return o
}

// took notes how long an answer took.
func (o *output) took(d time.Duration) {
	o.patience = 0
	if d < mostPatience && runtime.GOMAXPROCS(0) > 1 { // on one core the program waits for this side
		o.patience = mostPatience
	}
}

// Read reads output, and waits for it.
func (o *output) Read(b []byte) (int, error) {
	if len(o.kept) > 0 {
		n := copy(b, o.kept)
		o.kept = o.kept[n:]
		return n, nil
	}
	if o.patience > 0 && o.now(b) > 0 {
		return o.n, nil
	}
	return o.file.Read(b)
}

// now reads output without sleeping, and returns how much there was.
func (o *output) now(b []byte) int {
	o.into, o.n = b, 0
	if o.raw.Read(o.look) != nil {
		return 0
	}
	return o.n
}

// early returns the start of a line that came before a request; nil: there is none.
func (o *output) early() []byte {
	if len(o.kept) == 0 {
		usual := o.patience
		o.patience = 0
		o.kept = o.first[:o.now(o.first[:])]
		o.patience = usual
	}
	if n := bytes.IndexByte(o.kept, '\n'); n >= 0 {
		return o.kept[:n]
	}
	return nil
}

func (o *output) line(most int) ([]byte, error) { return pipe.ReadLine(o.lines, nil, most) }

func (o *output) more() bool { return o.lines.Buffered() > 0 }

func interrupt(f *os.File) {
	if f.SetReadDeadline(time.Unix(1, 0)) != nil {
		_ = f.Close()
	}
}

// ends makes the end of standard output, with the half line before it, the error of the
// process.
func (p *Process) ends(half []byte, err error) {
	if p.failed() {
		return
	}
	if err == pipe.ErrTooLong {
		p.fail(&LineError{Most: p.maxLine, Start: start(half)})
		return
	}
	if !p.within(p.exited, drain) {
		p.fail(errors.New("closed its standard output and did not exit"))
		return
	}
	<-p.heard // it is closed soon after exited
	p.fail(exitError(p.cmd.ProcessState, start(half), p.tail.lines()))
}

// start returns the first characters of a line for a message.
func start(line []byte) string { return quote.Cut(string(line[:min(len(line), 400)])) }

// hear passes standard error on, each line with the prefix. A long line is cut.
func (p *Process) hear(to io.Writer, prefix string) {
	defer close(p.heard)
	r := bufio.NewReaderSize(p.stderr, 8<<10)
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return
		}
		text := quote.Line(string(part))
		for more && err == nil {
			_, more, err = r.ReadLine()
		}
		p.tail.add(text)
		if to != nil {
			_, _ = io.WriteString(to, prefix+text+"\n") // it is for people only
		}
	}
}

// tail holds the last lines of standard error that are not blank.
type tail struct {
	mu   sync.Mutex
	last []string
}

// mostTail is the number of lines in a tail.
const mostTail = 10

func (t *tail) add(line string) {
	if line == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == mostTail {
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, line)
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.last)
}
