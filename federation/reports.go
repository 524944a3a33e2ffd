package federation

import (
	"math"

	"fedsim/algorithms"
	"fedsim/engine"
	"fedsim/internal/state"
	"fedsim/mtl"
)

// reports holds the reports of clients to the server, for selectors and protocols that
// declare History; nil for others.
type reports struct {
	clients []report
	losses  bool // clients report their losses
	rows    bool // and the root mean squares of those of their rows
}

type report struct {
	History
	since engine.Time // when the round started that the client was last asked in
	loss  float64     // reported with the response to it
	rms   float64     // likewise
}

// newReports returns the reports of clients to a selector and a protocol.
func newReports(clients int, declared SelectorFactory) *reports {
	r := &reports{clients: make([]report, clients), losses: declared.Losses || declared.RowLosses, rows: declared.RowLosses}
	for t := range r.clients {
		c := &r.clients[t]
		c.LastAsked = -1
		c.Loss, c.loss, c.RMS, c.rms = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return r
}

// of returns the history of client t. There must be reports.
func (r *reports) of(t int) History {
	return r.clients[t].History
}

// ask notes that a round asks the clients listed.
func (r *reports) ask(listed []int32, round int, now engine.Time) {
	if r == nil {
		return
	}
	for _, t := range listed {
		c := &r.clients[t]
		c.Asked++
		c.LastAsked, c.since = int32(round), now
	}
}

// respond notes that the response of client t has arrived.
func (r *reports) respond(t int, now engine.Time) {
	if r == nil {
		return
	}
	c := &r.clients[t]
	c.Responses++
	c.Round, c.Time, c.Loss, c.RMS = c.LastAsked, now-c.since, c.loss, c.rms
}

// reportLosses evaluates the model that those of the clients listed were sent that
// have done their work, on the rows of each.
func (f *Federation) reportLosses(listed []int32) {
	r := f.reports
	if r == nil || !r.losses {
		return
	}
	var solved []int32
	for _, t := range listed {
		if f.devices[t].solved {
			solved = append(solved, t)
		}
	}
	f.recorder.Answer(func() {
		if r.rows {
			problem, w := f.setup.Problem, f.method.Model().W
			f.setup.Pool.For(len(solved), func(i, _ int) {
				t := int(solved[i])
				c := &r.clients[t]
				c.loss, c.rms = problem.LocalRMS(t, mtl.ModelRow(w, problem.TaskOf(t)))
			})
			return
		}
		losses := make([]float64, len(solved))
		f.losses(solved, losses)
		for i, t := range solved {
			r.clients[t].loss = losses[i]
		}
	}, func(c *state.Coder) {
		for _, t := range solved {
			report := &r.clients[t]
			if c.Float64(&report.loss); r.rows {
				c.Float64(&report.rms)
			}
		}
	})
}

// losses evaluates the present global model on the training rows of each of the clients.
func (f *Federation) losses(clients []int32, into []float64) {
	if len(clients) == 0 {
		return
	}
	if f.method.About.Losses == algorithms.Yes {
		f.fail(f.method.Batched.Losses(clients, into))
		return
	}
	problem, w := f.setup.Problem, f.method.Model().W
	f.setup.Pool.For(len(clients), func(i, _ int) {
		t := int(clients[i])
		into[i] = problem.LocalLoss(t, mtl.ModelRow(w, problem.TaskOf(t)))
	})
}
