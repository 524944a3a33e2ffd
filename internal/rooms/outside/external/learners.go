package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/child"
	"fedsim/internal/tools/pipe"
)

// mostLine is the most bytes of an answer. Answers for 100,000 clients have 10 MB.
const mostLine = 64 << 20

// Learners are the processes of the learners and of the external models of an experiment. A process
// of a learner serves one run at a time, and then the next; a method with Options.Processes has so
// many for all its runs.
type Learners struct {
	// Tap sees the lines of all requests and responses; nil: nobody does. Grace is how long a
	// learner may take to exit at the end of its input. Set them before the first Start.
	Tap   func(request, response []byte)
	Grace time.Duration

	ctx    context.Context
	stderr io.Writer

	board     board
	reminders rooms.Reminders

	mu        sync.Mutex
	processes []*process
	models    []*Model
	files     map[dataKey]*dataFile
}

// process is a learner that has said hello.
type process struct {
	*child.Process
	of    *Learners
	key   string
	ready sync.Once
	hello hello
	err   error
	runs  int // under way
	last  int // number of the last run
}

// NewLearners returns the processes of an experiment, none at first. The standard error of
// learners goes to stderr, line by line; nil: nowhere. The end of ctx ends requests.
func NewLearners(ctx context.Context, stderr io.Writer) *Learners {
	return &Learners{ctx: ctx, stderr: stderr, Grace: 30 * time.Second}
}

// Close ends all processes: at the end of their input, or by force if that takes long. Their
// runs are finished: the error is of learners that fail afterwards.
func (l *Learners) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := make([]error, len(l.processes))
	var all sync.WaitGroup
	for i, p := range l.processes {
		if p.Process != nil {
			all.Go(func() {
				defer l.begin(&pending{who: "learner " + p.name(), exit: 2 * l.Grace})()
				if err := p.Close(l.Grace); err != nil {
					errs[i] = fmt.Errorf("learner %s: at the end of its input: %w", p.name(), err)
				}
			})
		}
	}
	for _, m := range l.models {
		errs = append(errs, m.close(l.Grace))
	}
	all.Wait()
	for _, f := range l.files {
		f.remove()
	}
	l.processes, l.models, l.files = nil, nil, nil
	return errors.Join(errs...)
}

// lease returns a process for a run, and the number of the run in it: an idle process, or a
// new one. With o.Processes it is one of so many, that with the fewest runs.
func (l *Learners) lease(o *Options) (p *process, run int, err error) {
	l.mu.Lock()
	var best *process
	count := 0
	for _, p := range l.processes {
		if p.key != o.key() {
			continue
		}
		if count++; best == nil || p.runs < best.runs {
			best = p
		}
	}
	if best == nil || best.runs > 0 && (o.Processes == 0 || count < o.Processes) {
		best = &process{of: l, key: o.key()}
		l.processes = append(l.processes, best)
	}
	best.runs++
	best.last++
	run = best.last
	l.mu.Unlock()
	best.ready.Do(func() { best.err = best.start(l, o) })
	if best.err != nil {
		l.release(best, true)
		return nil, 0, best.err
	}
	return best, run, nil
}

// start starts the process and greets it.
func (p *process) start(l *Learners, o *Options) (err error) {
	prefix := o.program() + ": "
	if p.Process, err =
		child.Start(child.Config{Command: o.Command, Stderr: l.stderr, Prefix: prefix, MaxLine: mostLine}); err != nil {
		return fmt.Errorf("learner %s: %w", o.program(), err)
	}
	err = p.ask(l.ctx, o, "", request{Op: "hello", V: []int{version}}, helloFields.Into(&p.hello))
	if err != nil {
		return fmt.Errorf("learner %s: hello: %w", o.program(), err)
	}
	return nil
}

// name names the learner, by its program until it has said hello.
func (p *process) name() string {
	if p.hello.name != "" {
		return p.hello.name
	}
	return "that was started"
}

// release ends the use of a process by a run. After an error the process is ended, too.
func (l *Learners) release(p *process, failed bool) {
	l.mu.Lock()
	p.runs--
	if failed {
		l.processes = slices.DeleteFunc(l.processes, func(q *process) bool { return q == p })
	}
	l.mu.Unlock()
	if failed && p.Process != nil {
		_ = p.Close(0) // the run has an error already
	}
}

// ask sends a request of a run and reads the answer.
func (p *process) ask(ctx context.Context, o *Options, run string, question request, into reader) error {
	response, err := p.exchange(ctx, o, run, &question, question)
	if err != nil {
		return err
	}
	return into.read(new(pipe.Decoder), response)
}

// exchange sends a line about a request and returns the answer.
func (p *process) exchange(ctx context.Context, o *Options, run string, about *request, line any) ([]byte, error) {
	text, err := pipe.Encode(line)
	if err != nil {
		return nil, err
	}
	name := p.hello.name
	if name == "" {
		name = o.program()
	}
	end := func() {}
	response, err := p.AskInTurn(ctx, text, o.timeout(), func() {
		end = p.of.begin(&pending{who: "learner " + name, of: about, run: run, timeout: o.timeout()})
	})
	end()
	if p.of.Tap != nil {
		p.of.Tap(text, response)
	}
	return response, err
}

// Start starts a run. The caller closes it.
func (l *Learners) Start(run rooms.LearnerRun, s algorithms.Setup, o *Options) (*Learner, error) {
	p, number, err := l.lease(o)
	if err != nil {
		return nil, err
	}
	a := &Learner{
		of: l, process: p, options: o, about: run, run: number, clients: len(s.Rows),
		solved: make([]bool, len(s.Rows)),
	}
	a.About.Name = "learner " + p.name()
	if err := a.start(s); err != nil {
		l.release(p, true)
		a.remove()
		return nil, fmt.Errorf("%s: start: %w", a.About.Name, err)
	}
	return a, nil
}
