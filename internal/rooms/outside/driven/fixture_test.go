package driven

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// place stores a run in memory.
type place struct {
	scenario string
	store    checkpointtest.Store
	every    time.Duration // between checkpoints; 0: after every line
	rounds   []results.Round
	clients  int                     // whose facts are kept
	facts    [][]results.ClientFacts // by round, of each client
	hello    Hello
	finished *results.Run
	failed   bool
	stopped  *results.Run
	why      string
}

// options returns options that store a run here.
func (p *place) options(t testing.TB) Options {
	return Options{
		Version: "test", Clock: func() time.Time { return time.Unix(0, 0) },
		Open: func(h Hello) (*Directory, *Error) {
			p.hello = h
			file := filetest.New(t, "small.toml", cmp.Or(p.scenario, small))
			s, err := scenario.LoadDriven(file, nil, scenario.Program{Method: h.Method, Seed: h.Seed})
			if err != nil {
				return nil, &Error{Code: CodeScenario, Message: err.Error(), Cause: err}
			}
			return &Directory{
				Run: &s.Experiments[0].Jobs[0].Candidates[0],
				Options: experiment.Options{
					Checkpoints: checkpoint.Policy{Store: &p.store, Every: p.every, Clock: time.Now},
					Recorder: &recordtest.Recorder{Rounds: func(int, results.Run) func(results.Round) {
						return p.take
					}},
				},
				Finish: func(_ results.Rows, r results.Run, failed bool) (string, error) {
					p.finished, p.failed = &r, failed
					return "place", nil
				},
				Suspend: func(_ results.Rows, r results.Run, why string) error {
					p.stopped, p.why = &r, why
					return fmt.Errorf("%s: %w", why, ErrInterrupted)
				},
			}, nil
		},
	}
}

// take stores a round, and the facts of the clients after it.
func (p *place) take(r results.Round) {
	p.rounds = append(p.rounds, r)
	if r.Client == nil {
		return // it is repeated with metrics that were declared late
	}
	var all []results.ClientFacts
	for k := range p.clients {
		all = append(all, r.Client(k))
	}
	p.facts = append(p.facts, all)
}

// small has four devices on LTE.
const small = `
[data]
source = "synthetic"
[data.synthetic]
clients = 4
[network]
profile = "lte"
[run]
mode = "timing"
`

const hello = `{"op":"hello","v":[1],"driver":"test 1","method":"FedAvg","seed":1}`

// serve sends lines and returns the lines that come back.
func (p *place) serve(t testing.TB, lines ...string) ([]string, error) {
	t.Helper()
	return p.serveText(t, strings.Join(lines, "\n")+"\n")
}

func (p *place) serveText(t testing.TB, text string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Serve(context.Background(), strings.NewReader(text), &out, p.options(t))
	if out.Len() == 0 {
		return nil, err
	}
	answers := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	return answers, err
}
