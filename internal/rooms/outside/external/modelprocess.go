package external

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fedsim/internal/tools/child"
	"fedsim/internal/tools/pipe"
)

// modelProcess is a process of a program that has said hello.
type modelProcess struct {
	*child.Process
	of     *Model
	under  int // requests under way, of which there are at most as many as places
	opened sync.Once
	failed error // of opened
	places [places]place
}

// places is how many requests a process has at a time: one that it answers, and the next one.
const places = 2

// place is where a process finds a request and leaves its answer.
type place struct {
	*modelProcess
	number  int
	spent   *atomic.Int64 // see with
	slots   *slots        // nil: they are not made yet
	line    []byte        // of the request
	weights []float64     // of its rows
	reader  pipe.Decoder
}

// start starts a process and greets it.
func (m *Model) start() (*modelProcess, error) {
	m.mu.Lock()
	m.begun++
	m.mu.Unlock()
	of, err := child.Start(child.Config{Command: m.options.Command, Stderr: m.of.stderr, Prefix: m.program() + ": ",
		MaxLine: mostLine, Ahead: places - 1})
	if err != nil {
		return nil, err
	}
	p := &modelProcess{Process: of, of: m}
	for i := range p.places {
		p.places[i].modelProcess, p.places[i].number = p, i
	}
	m.mu.Lock()
	m.all = append(m.all, p)
	first := m.about.name == ""
	m.mu.Unlock()
	var about modelHello
	if err := p.places[0].ask(&m.asks, modelHelloFields.Into(&about)); err != nil {
		return nil, err
	}
	if first {
		m.about = about
	} else if got, want := about.text(), m.about.text(); got != want {
		return nil, fmt.Errorf("answers otherwise than the first process: %s, not %s", got, want)
	} else if !reflect.DeepEqual(about.shapes, m.about.shapes) {
		return nil, errors.New("answers with other shapes than the first process")
	}
	return p, nil
}

// with calls ask with an idle place, or with one of a new process if all are busy and there may be more. The
// errors that it returns name the model and the request. The nanoseconds for which the program has the request are
// added to spent, if it is not nil and there is a clock.
func (m *Model) with(spent *atomic.Int64, about func() string, ask func(p *place) error) error {
	p, err := m.lease()
	if err == nil {
		if err = p.open(); err == nil {
			p.spent = spent
			err = ask(p)
		}
		m.mu.Lock()
		m.idle = append(m.idle, p)
		p.under--
		m.mu.Unlock()
		m.freed.Signal()
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", m.name(), about(), err)
	}
	return nil
}

// lease waits for a place: in a process without a request, in a new one, or behind a request.
func (m *Model) lease() (*place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		best := -1
		for i, p := range m.idle {
			if best < 0 || p.under <= m.idle[best].under { // of equals the last one used: it is in the caches
				best = i
			}
		}
		if m.begun < m.options.Processes && (best < 0 || m.idle[best].under > 0) {
			m.mu.Unlock()
			p, err := m.start()
			m.mu.Lock()
			if err != nil {
				return nil, err
			}
			for i := 1; i < places; i++ {
				m.idle = append(m.idle, &p.places[i])
				m.freed.Signal()
			}
			p.under++
			return &p.places[0], nil
		}
		if best >= 0 {
			p := m.idle[best]
			m.idle = slices.Delete(m.idle, best, best+1)
			p.under++
			return p, nil
		}
		m.freed.Wait()
	}
}

// open makes the files of the places of a process, and tells the process of them and of the rows.
func (p *place) open() error {
	process := p.modelProcess
	process.opened.Do(func() { process.failed = process.places[0].openAll() })
	return process.failed
}

func (p *place) openAll() error {
	m, question := p.of, modelRequest{Op: "open"}
	for i := range p.places {
		s := m.slotsOf()
		if err := s.reserve(); err != nil {
			return err
		}
		p.places[i].slots = s
		layout := fileLayout{Path: s.path, Rows: s.rows, MostRows: m.most, W: s.w, G: s.g}
		if m.about.predictions > 0 {
			layout.ByRow = s.byRow
		}
		question.Files = append(question.Files, layout)
	}
	var err error
	if question.Data, err = m.set.layout(); err != nil {
		return err
	}
	return p.ask(&question, none)
}

// ask sends a request and reads the answer.
func (p *place) ask(question *modelRequest, into reader) error {
	text, err := pipe.Encode(question)
	if err != nil {
		return err
	}
	about := request{Op: question.Op}
	if question.Clients != nil {
		about.Clients = question.Clients
	}
	return p.exchange(&about, text, into)
}

// exchange sends the line of a request and reads the answer.
func (p *place) exchange(about *request, line []byte, into reader) error {
	m, end := p.of, func() {}
	timeout := time.Duration(m.options.TimeoutS * float64(time.Second))
	response, err := p.AskInTurn(m.of.ctx, line, timeout, func() {
		remind := m.of.begin(&pending{who: m.name(), of: about, timeout: timeout})
		stop := m.of.board.measure(p.spent)
		end = func() { stop(); remind() }
	})
	end()
	if m.of.Tap != nil {
		m.of.Tap(line, response)
	}
	if err != nil {
		return err
	}
	return into.read(&p.reader, response)
}

// close ends the processes of the model, and removes its files.
func (m *Model) close(grace time.Duration) error {
	errs := make([]error, len(m.all))
	var all sync.WaitGroup
	for i, p := range m.all {
		all.Go(func() {
			defer m.of.begin(&pending{who: m.name(), exit: 2 * grace})()
			if err := p.Close(grace); err != nil {
				errs[i] = fmt.Errorf("%s: at the end of its input: %w", m.name(), err)
			}
			for i := range p.places {
				p.places[i].slots.remove()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
