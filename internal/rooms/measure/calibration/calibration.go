package calibration

import (
	"errors"
	"fmt"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
)

// Calibration is the model of a federation, fitted to logs.
type Calibration struct {
	Format  int      `json:"format"` // of this structure, 1
	Runs    []Run    `json:"runs"`
	Classes []Class  `json:"classes"`
	Clients []Client `json:"clients"`
	Network Network  `json:"network"`
	Waiting Waiting  `json:"waiting"`
	Jitter  Jitter   `json:"jitter"`
	Faults  Faults   `json:"faults"`
	// RowsAsFLOPs reports that the logs have no FLOPs, and a row of an epoch counts as one.
	RowsAsFLOPs bool `json:"rows_as_flops"`
	// Fitted has the spans of sizes and work of the log, by quantity: bytes_down, bytes_up, steps, batch, flops and
	// flops_per_step, those that the log has.
	Fitted  map[string]Span `json:"fitted"`
	Missing []Missing       `json:"not_identified"`
	Notes   []string        `json:"notes"`
}

// Run is a run of the logs.
type Run struct {
	Name     string `json:"name"`
	Attempts int    `json:"attempts"`
	Rounds   int    `json:"rounds"`
	Clients  int    `json:"clients"`
	// Time is the factor that the computations of all clients of the run share: above 1, all were
	// slow in this run.
	Time Value `json:"time_factor"`
}

// Constants are the constants of computations.
type Constants struct {
	TaskOverheadS Value `json:"task_overhead_s"`
	StepOverheadS Value `json:"step_overhead_s"`
	TrafficSPerGB Value `json:"traffic_s_per_gb"`
	GFLOPS        Value `json:"gflops"`
}

// Class is a class of clients.
type Class struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	Constants
	// Spread is sigma/mu of the time factors of its clients.
	Spread Value `json:"speed_spread"`
	// NominalGFLOPS is the geometric mean of the nominal speeds of its clients, 0 without any.
	NominalGFLOPS float64 `json:"nominal_gflops"`
	// Own reports that each client has its own constants, which agree with the log far better
	// than those of the class with a factor for each client.
	Own bool `json:"own_constants"`
}

// Client is a client.
type Client struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Constants
	// Time is the factor of the constants of its class, of geometric mean 1 over the class; not
	// known if the client has its own constants.
	Time     Value `json:"time_factor"`
	DownMbps Value `json:"down_mbps"`
	UpMbps   Value `json:"up_mbps"`
	RTTms    Value `json:"rtt_ms"`
	Drop     Value `json:"drop_probability"`
	Absent   Value `json:"absent"`
	Attempts int   `json:"attempts"`
	// Nominal values are medians over the log, 0 without any.
	NominalDownMbps float64 `json:"nominal_down_mbps"`
	NominalUpMbps   float64 `json:"nominal_up_mbps"`
	NominalGFLOPS   float64 `json:"nominal_gflops"`
}

// Network has what all links share: of both directions together, and of each.
type Network struct {
	WireFactor     Value `json:"wire_factor"`
	BurstBytes     Value `json:"burst_bytes"`
	DownWireFactor Value `json:"down_wire_factor"`
	DownBurstBytes Value `json:"down_burst_bytes"`
	UpWireFactor   Value `json:"up_wire_factor"`
	UpBurstBytes   Value `json:"up_burst_bytes"`
}

// Waiting has the times of an attempt without transfer or work.
type Waiting struct {
	ClientPollS Value `json:"client_poll_s"` // period, from the end of the last reply
	ClientLagS  Value `json:"client_lag_s"`  // from a poll to its effect
	ServerPollS Value `json:"server_poll_s"` // period, from the first message of a round
	ServerLagS  Value `json:"server_lag_s"`
	LaunchPollS Value `json:"launch_poll_s"`
	LaunchS     Value `json:"launch_s"`
	LaunchGFLOP Value `json:"launch_gflop"` // work of a launch, at the rate of the client
	ColdStartS  Value `json:"cold_start_s"` // of the first attempt of a client
	RoundGapS   Value `json:"round_gap_s"`  // from the last response of a round to the next round
}

// Jitter has the spread of the times of computations that the model does not explain.
type Jitter struct {
	Compute Value `json:"compute_jitter"` // sigma/mu from attempt to attempt of a client in a run
	Round   Value `json:"round_share"`    // share of the variance that the clients of a round have in common
	Run     Value `json:"run_jitter"`     // sigma/mu of the time factors of runs
}

// Faults has the rates of failures over all clients.
type Faults struct {
	Drop   Value `json:"drop_probability"` // of an attempt
	Absent Value `json:"absent"`           // share of the rounds
}

// Missing is a term that the log does not identify.
type Missing struct {
	Term string `json:"term"`
	For  string `json:"for"` // a client or a class; empty: all
	Why  string `json:"why"`
}

// Options are the options of a fit.
type Options struct {
	// Resamples is the number of bootstrap samples of the intervals; negative: none, 0: from 40 to 200,
	// fewer for longer logs.
	Resamples int
	// Seed selects the resamples.
	Seed uint64
}

// ErrTooShort reports a log that is too short to fit.
var ErrTooShort = errors.New("too short to fit")

// Fit fits the model to a log. An error wraps ErrTooShort.
func Fit(log *attemptlog.Log, o Options) (*Calibration, error) {
	thin, note := thinned(log)
	t := newTable(thin)
	switch {
	case len(t.rows) == 0:
		return nil, fmt.Errorf("%w: the log has no attempt of kind %s", ErrTooShort, attemptlog.Train)
	case len(t.rows) == 1:
		return nil,
			fmt.Errorf("%w: the log has one attempt: record at least two rounds, better three runs with two sizes of "+
				"model, two numbers of steps and two batch sizes", ErrTooShort)
	}
	p := newPlan(t)
	c := p.calibrate(nil)
	p.describe(c)
	c.setFitted(log)
	p.bootstrap(c, o)
	c.Notes = slices.Concat(log.Notes, note, c.Notes)
	return c, nil
}

// values calls visit with every estimate that has an interval by bootstrap, in a fixed order.
func (c *Calibration) values(visit func(*Value)) {
	all := func(terms []term) {
		for _, t := range terms {
			visit(t.value)
		}
	}
	for i := range c.Runs {
		visit(&c.Runs[i].Time)
	}
	for i := range c.Classes {
		all(c.Classes[i].terms())
		visit(&c.Classes[i].Spread)
	}
	for i := range c.Clients {
		k := &c.Clients[i]
		all(k.terms())
		for _, v := range []*Value{&k.Time, &k.DownMbps, &k.UpMbps, &k.RTTms} {
			visit(v)
		}
	}
	all(c.sharedTerms())
}

// term is an estimate with its names.
type term struct {
	key   string // in Missing; empty: it is not listed there
	label string // in a report of what all clients share
	value *Value
}

// terms returns the constants.
func (c *Constants) terms() []term {
	return []term{
		{"task_overhead_s", "", &c.TaskOverheadS}, {"step_overhead_s", "", &c.StepOverheadS},
		{"traffic_s_per_gb", "", &c.TrafficSPerGB}, {"gflops", "", &c.GFLOPS},
	}
}

// sharedTerms returns what all clients share and has an interval by bootstrap.
func (c *Calibration) sharedTerms() []term {
	n, w, j := &c.Network, &c.Waiting, &c.Jitter
	return []term{
		{"wire_factor", "wire factor", &n.WireFactor},
		{"", "wire factor, down", &n.DownWireFactor},
		{"", "wire factor, up", &n.UpWireFactor},
		{"burst_bytes", "burst", &n.BurstBytes},
		{"", "burst, down", &n.DownBurstBytes},
		{"", "burst, up", &n.UpBurstBytes},
		{"client_poll_s", "client's poll, period", &w.ClientPollS},
		{"", "client's poll, lag", &w.ClientLagS},
		{"server_poll_s", "server's poll, period", &w.ServerPollS},
		{"", "server's poll, lag", &w.ServerLagS},
		{"launch_poll_s", "launch's poll, period", &w.LaunchPollS},
		{"launch_s", "launch", &w.LaunchS},
		{"launch_gflop", "launch, work", &w.LaunchGFLOP},
		{"cold_start_s", "cold start", &w.ColdStartS},
		{"round_gap_s", "gap between rounds", &w.RoundGapS},
		{"compute_jitter", "jitter of an attempt", &j.Compute},
		{"", "share common to a round", &j.Round},
		{"run_jitter", "jitter of a run", &j.Run},
	}
}

// terms returns the rates.
func (f *Faults) terms() []term {
	return []term{{"drop_probability", "drop probability", &f.Drop}, {"absent", "absent", &f.Absent}}
}
