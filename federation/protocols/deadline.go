package protocols

import (
	"math"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// Deadline ends every round at the global clock cycle. Clients that are late are dropped
// for the round (paper, section 3.4, "global clock cycle").
const Deadline = "deadline"

type deadline struct {
	cycle    engine.Time // length of a round
	margin   float64     // of the uplink
	quantile float64     // of response times, which cycle becomes; 0: it stays
	past     responses
}

type deadlineOptions struct {
	// the clock cycle becomes this quantile of the response times of the last five rounds, without
	// clients that fail; if a late response is the quantile, the cycle grows by half
	Quantile float64 `toml:"quantile" absent:"0: the cycle is always deadline_s"`
	// a controller limits the steps of each client to those that fit into the clock cycle; false:
	// clients do all the work of their method, and stragglers are late
	Fit bool `toml:"fit_work"`
	// relative safety margin on the upload time when a controller fits work into the clock cycle
	Margin float64 `toml:"margin"`
	RetryOptions
}

// Validate reports everything wrong with the options.
func (o *deadlineOptions) Validate(c *config.Checker) {
	c.Require(o.Quantile >= 0 && o.Quantile <= 1, "quantile", o.Quantile, "must be in [0, 1]")
	c.Require(o.Margin >= 0 && o.Margin <= 10, "margin", o.Margin, "must be in [0, 10]")
	o.RetryOptions.Validate(c)
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:      Deadline,
		Summary:   "a round lasts a fixed time, without late responses; it is the clock cycle",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, section 3.4",
		Keys:      []string{"deadline_s", "selection", "min_reports", "late"},
		Options:   func() config.Options { return &deadlineOptions{Fit: true} },
		Apply: func(given config.Options, to *federation.Shared) {
			o := given.(*deadlineOptions)
			to.Quantile, to.Fit, to.Margin = o.Quantile, o.Fit, o.Margin
			o.apply(to)
		},
		Traits: func(c *federation.Config) federation.Traits {
			return federation.Traits{End: federation.EndsAtDeadline, LimitsWork: c.Fit, FitsWork: c.Fit,
				Late: c.KeepsLate()}
		},
		Validate: func(f *federation.Config, c *config.Checker) {
			c.Require(f.DeadlineS != 0, "deadline_s", nil,
				"must be given: protocol \"deadline\" needs the length of its clock cycle")
		},
		New: func(c *federation.Config, _ config.Options) (federation.Protocol, error) {
			p := &deadline{cycle: engine.FromSeconds(c.DeadlineS), margin: c.Margin, quantile: c.Quantile}
			if c.Quantile > 0 {
				p.past = newResponses(window)
			}
			return p, nil
		},
	})
}

// Steps is the controller of a client: the times of its message and its response, and its
// processor, decide how many steps fit (paper, section 3.4).
func (d *deadline) Steps(r *federation.OpenRound, client int) float64 {
	return r.StepsWithin(client, d.cycle, d.margin)
}

func (d *deadline) Open(r *federation.OpenRound) { r.EndAt(r.Now().Add(d.cycle)) }

func (d *deadline) Responded(r *federation.OpenRound, client int) {
	if r.Staleness(client) == 0 { // others were late before
		d.past.add(r.Now() - r.Began())
	}
}

func (d *deadline) Exhausted(*federation.OpenRound) {}

// window is the number of rounds whose responses the quantile is of. Tests have fewer.
var window = 5

// lengthening is the factor by which the cycle grows when too few responses arrived to
// derive its length from them.
const lengthening = 1.5

// Close sets the clock cycle of the next round to a quantile of the response times of
// the last rounds. When more responses are late than it leaves out, the cycle grows.
// Clients that have failed do not count: no cycle is long enough for them. When nobody
// counts, the cycle stays.
func (d *deadline) Close(r *federation.OpenRound) {
	if d.quantile == 0 {
		return
	}
	d.past.late[0] = r.Late()
	if took := d.past.quantile(d.quantile); took < engine.Never {
		d.cycle = took
	} else if d.past.late[0] > 0 {
		d.cycle = engine.FromSeconds(d.cycle.Seconds() * lengthening)
	}
	d.past.shift()
}

// responses is how long the responses of recent rounds took; empty when the clock cycle
// does not depend on it.
type responses struct {
	rounds [][]engine.Time // of the window, the present one first
	late   []int           // late responses in each
	sorted []engine.Time
}

func newResponses(window int) responses {
	return responses{rounds: make([][]engine.Time, window), late: make([]int, window)}
}

// add notes a response of the present round.
func (r *responses) add(took engine.Time) {
	if len(r.rounds) > 0 {
		r.rounds[0] = append(r.rounds[0], took)
	}
}

// quantile returns a quantile of how long the responses took: engine.Never when it is a
// late one, which took longer than all others, or when there are none.
func (r *responses) quantile(q float64) engine.Time {
	r.sorted = r.sorted[:0]
	all := 0
	for i, round := range r.rounds {
		r.sorted = append(r.sorted, round...)
		all += len(round) + r.late[i]
	}
	slices.Sort(r.sorted)
	rank := max(1, int(math.Ceil(q*float64(all))))
	if rank > len(r.sorted) {
		return engine.Never
	}
	return r.sorted[rank-1]
}

// usual is quantile, but the longest response in place of a late one; engine.Never: there are none.
func (r *responses) usual(q float64) engine.Time {
	took := r.quantile(q)
	if n := len(r.sorted); took == engine.Never && n > 0 {
		return r.sorted[n-1]
	}
	return took
}

// shift makes room for the next round in place of the oldest.
func (r *responses) shift() {
	last := len(r.rounds) - 1
	oldest := r.rounds[last][:0]
	copy(r.rounds[1:], r.rounds)
	copy(r.late[1:], r.late)
	r.rounds[0] = oldest
}
