package protocols

import (
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// Hedged is First with a backup, another client, for each that has not responded after a time: the first response
// of the two counts (hedged requests: Dean and Barroso, CACM 2013).
const Hedged = "hedged"

type hedged struct {
	first
	opts   hedgedOptions
	pairs  [][2]int32 // of the open round: a client and its backup
	asked  engine.Time
	past   responses
	longer int // clients canceled since their backup was faster
}

type hedgedOptions struct {
	firstOptions
	// seconds of a round after which each client that has not responded gets a backup
	HedgeS float64 `toml:"hedge_s" absent:"0: the quantile decides"`
	// without hedge_s: backups are asked at this quantile of the response times of the last five rounds; in the
	// first there are none
	Quantile float64 `toml:"hedge_quantile"`
	// most backups in a round, for the first clients by number. They are drawn from all others with the same
	// probability, whatever the selection; with 0 the protocol is "first"
	Backups int `toml:"max_backups"`
}

const hedgeQuantile = 0.95

// Validate reports everything wrong with the options.
func (o *hedgedOptions) Validate(c *config.Checker) {
	o.firstOptions.Validate(c)
	c.Require(o.HedgeS >= 0 && o.HedgeS <= 1e9, "hedge_s", o.HedgeS, "must be in [0, 1e9] seconds")
	c.Require(o.Quantile > 0 && o.Quantile <= 1, "hedge_quantile", o.Quantile, "must be in (0, 1]")
	c.Require(o.HedgeS == 0 || o.Quantile == hedgeQuantile, "hedge_quantile", o.Quantile,
		"must be left out with hedge_s, which says when backups are asked")
	c.Require(o.Backups >= 0 && o.Backups <= 1e6, "max_backups", o.Backups, "must be in [0, 1e6]")
}

var _ federation.Waker = (*hedged)(nil)

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:      Hedged,
		Summary:   "first, with another client for each that takes long: a backup",
		Reference: "Dean, Barroso: The Tail at Scale, Communications of the ACM 56(2), 2013",
		Keys:      []string{"deadline_s", "selection", "min_reports", "late"},
		Options: func() config.Options {
			return &hedgedOptions{firstOptions: firstOptions{Over: 1}, Quantile: hedgeQuantile, Backups: 100}
		},
		Apply: func(given config.Options, to *federation.Shared) {
			o := given.(*hedgedOptions)
			to.Over = o.Over
			o.apply(to)
		},
		Traits: func(c *federation.Config) federation.Traits {
			return federation.Traits{Late: c.KeepsLate(), Asks: true}
		},
		New: func(c *federation.Config, o config.Options) (federation.Protocol, error) {
			h := &hedged{first: first{limit: engine.FromSeconds(c.DeadlineS)}, opts: *o.(*hedgedOptions)}
			if h.opts.HedgeS == 0 {
				h.past = newResponses(window)
			}
			return h, nil
		},
	})
}

// Open sets the instant of the backups.
func (h *hedged) Open(r *federation.OpenRound) {
	h.pairs = h.pairs[:0]
	after := engine.FromSeconds(h.opts.HedgeS)
	if h.opts.HedgeS == 0 {
		after = h.past.usual(h.opts.Quantile)
	}
	h.longer = 0
	if h.opts.Backups > 0 && after < engine.Never {
		r.WakeAt(r.Now().Add(after))
	}
	h.first.Open(r)
}

// Wake asks a backup for each client that has not responded.
func (h *hedged) Wake(r *federation.OpenRound) {
	slow := slices.DeleteFunc(slices.Clone(r.Asked()), func(client int32) bool { return !r.Expects(int(client)) })
	h.asked = r.Now()
	for i, backup := range r.More(min(len(slow), h.opts.Backups)) {
		if r.Ask(int(backup)) {
			h.pairs = append(h.pairs, [2]int32{slow[i], backup})
		}
	}
}

// Responded cancels the other client of a pair.
func (h *hedged) Responded(r *federation.OpenRound, client int) {
	began := r.Began()
	for _, pair := range h.pairs {
		switch int32(client) {
		case pair[0]:
			r.Cancel(int(pair[1]))
		case pair[1]:
			began = h.asked
			if r.Cancel(int(pair[0])) {
				h.longer++
			}
		}
	}
	if r.Staleness(client) == 0 {
		h.past.add(r.Now() - began)
	}
	h.first.Responded(r, client)
}

// Close notes how many clients have taken longer.
func (h *hedged) Close(r *federation.OpenRound) {
	if h.opts.HedgeS == 0 {
		h.past.late[0] = r.Late() + h.longer
		h.past.shift()
		h.past.late[0] = 0
	}
}
