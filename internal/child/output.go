package child

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"

	"fedsim/internal/pipe"
	"fedsim/internal/quote"
)

// listen reads the responses until standard output ends.
func (p *Process) listen() {
	defer close(p.read)
	r := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, err := pipe.ReadLine(r, nil, p.maxLine)
		if err != nil {
			p.ends(line, err)
			_, _ = io.Copy(io.Discard, r) // after a line that is too long
			return
		}
		p.deliver(line, r.Buffered() > 0)
	}
}

// deliver hands a line to the request that waits for it. More says that more output has
// already arrived, for which no request can wait.
func (p *Process) deliver(line []byte, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.waiting:
		p.waiting = false
		p.answers <- line
		if more {
			p.failLocked(&UnaskedError{})
		}
	case p.closing: // its farewell does no harm
	default:
		p.failLocked(&UnaskedError{Line: start(line)})
	}
}

// ends makes the end of standard output, with the half line before it, the error of the
// process.
func (p *Process) ends(half []byte, err error) {
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
