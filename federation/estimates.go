package federation

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/results"
)

// estimates are the expectations of a server: the work of clients, and how long their responses
// take in the mean.
type estimates struct {
	setup   *Setup
	work    *Workload
	traits  Traits
	minRows int // those of the smallest client
	clients *clients.Clients
	rounds  int // of a hub, or 1, each with a message and a response
}

// flops returns the FLOPs of so many steps of a client.
func (e *estimates) flops(client, steps int) float64 {
	if e.work.FLOPs == nil {
		return float64(float64(steps) * e.work.StepFLOPs)
	}
	return e.work.FLOPs(client, steps)
}

// of returns the work of so many steps of a client.
func (e *estimates) of(client, steps int) devices.Work {
	w := devices.Work{FLOPs: e.flops(client, steps), Steps: float64(steps)}
	if e.work.Overheads != nil {
		batches, traffic := e.work.Overheads(client, steps)
		w.Steps, w.Traffic = float64(batches), traffic
	}
	return w
}

// pass returns the work of one pass of a client over its rows.
func (e *estimates) pass(client int) devices.Work { return e.of(client, e.setup.RowsOf(client)) }

// usual returns the work of a client in a round where nothing limits it.
func (e *estimates) usual(client int) devices.Work {
	if e.work.Usual == nil {
		return e.pass(client)
	}
	return e.work.Usual(client)
}

// least returns the work whose time the protocol charges to every client: that of the steps that
// it charges, on the client where they take the most FLOPs.
func (e *estimates) least() (most devices.Work) {
	steps := e.traits.ChargedPasses * float64(e.minRows)
	if steps == 0 {
		return devices.Work{}
	}
	for client := range e.setup.Rows {
		if w := e.of(client, max(1, int(steps))); client == 0 || w.FLOPs > most.FLOPs {
			most = w
		}
	}
	if e.work.FLOPs == nil {
		most.FLOPs = steps * e.work.StepFLOPs
	}
	return most
}

// response returns how long a client usually takes from the server's message to its response,
// with one pass over its rows.
func (e *estimates) response(client int) engine.Time {
	down, up := e.work.Bytes(client)
	return e.clients.ExpectedResponse(client, down, e.pass(client), up)
}

// stepsWithin returns how many steps a client can do such that its response takes a given time;
// see OpenRound.StepsWithin.
func (e *estimates) stepsWithin(client int, length engine.Time, margin float64) float64 {
	c := e.clients
	_, bytesUp := e.work.Bytes(client)
	down, usual := c.Transfers(client, bytesUp)
	up := float64(usual.Seconds() * (1 + margin))
	left := length.Seconds() - down.Seconds() - up - c.MeanPollWait().Seconds()
	if rounds := float64(e.rounds); rounds > 1 {
		short := c.State(client).Downlink.Seconds() + float64(c.ExpectedUplink(client, bytesUp).Seconds()*(1+margin))
		left = (left - float64((rounds-1)*short)) / rounds
	}
	flops, most := c.FLOPsWithin(client, down, left), 0.0
	if e.work.Within == nil {
		most = flops / e.work.StepFLOPs
	} else {
		most = e.work.Within(client, flops)
	}
	if !c.Fleet().HasOverheads(client) || !(most >= 1) {
		return most
	}
	return float64(sort.Search(int(min(most, Unlimited)), func(n int) bool {
		w := e.of(client, n+1)
		w.FLOPs += e.work.MessageFLOPs
		return !c.Within(client, w, down, left)
	}))
}

// Facts returns the facts of a client besides its metrics, by the usual sizes of its
// messages; Workload.CountUpdates must be set. No event and no random draw depends on it.
func (s *Server) Facts(client int, down, up float64) results.ClientFacts {
	c := s.clients
	facts := results.ClientFacts{Class: c.Class(client), Updates: int(s.accounts.updates[client]),
		ComputeS: math.NaN(), TransferS: math.NaN()}
	if pass := s.estimates.pass(client); pass.FLOPs > 0 {
		facts.ComputeS = c.UsualCompute(client, pass).Seconds()
	}
	if down > 0 || up > 0 {
		facts.TransferS = c.UsualTransfers(client, down, up).Seconds()
	}
	return facts
}

// chargeAuthors charges every device of the round as the authors' drivers do: 8, 6 or 4
// units a step, the work of all tasks added up, or for a method that waits for everyone
// (CoCoA) the most steps of any task times their number. Every device is busy for as
// long as that sum.
func (s *Server) chargeAuthors() {
	if s.setup.Config.Cost != Authors {
		return
	}
	total, most := 0.0, 0.0
	for _, client := range s.open.asked {
		steps := 0.0
		if d := s.attempts.device(int(client)); d.solved {
			steps = float64(d.steps)
		}
		if s.traits.ChargedPasses > 0 {
			steps = s.traits.ChargedPasses * float64(s.minRows)
		}
		total += steps
		most = max(most, steps)
	}
	if s.work.AllClients {
		total = most * float64(len(s.open.asked))
	}
	s.clients.SetComputeTime(total * s.work.AuthorUnits * authorUnit)
}

// authorUnit is one unit of the authors' drivers in seconds: the paper gives its
// estimated times in milliseconds.
const authorUnit = 1e-3

// mostChecked is the most devices that CheckDeadline looks at.
const mostChecked = clients.MaxClients / 16

// Cutoff says when the response to a first try comes too late.
type Cutoff struct {
	Seconds float64 // after the server's message; 0: never
	Key     string  // that says so
	Fits    bool    // clients do as much work as fits before it
	Margin  float64 // share by which they take their uplink to be longer, then
}

// Cutoff returns when the response to a first try comes too late.
func (s *Server) Cutoff() (c Cutoff) {
	cfg := &s.setup.Config
	if cfg.Quantile == 0 && cfg.uses("deadline_s") && (s.traits.FitsWork || !s.traits.Late) { // not taken in any round
		c.Seconds, c.Key = cfg.DeadlineS, "federation.deadline_s"
	}
	runtime := s.setup.Network.InForce() // if it polls, a response that lies at the server is in time
	if t := cfg.AnswerTimeoutS; t > 0 && !runtime.Polls() && (c.Seconds == 0 || t < c.Seconds) {
		c.Seconds, c.Key = t, "federation.protocol_options.answer_timeout_s"
	}
	c.Fits, c.Margin = s.traits.FitsWork, cfg.Margin
	return c
}

// CheckDeadline reports a deadline or answer timeout that no device can ever meet: every round would end
// without a response. It uses lower bounds of response times, so it never refuses a
// deadline that a device can meet. No message is smaller than leastBytes.
func (s *Server) CheckDeadline(leastBytes float64) error {
	cutoff := s.Cutoff()
	if cutoff.Seconds == 0 {
		return nil
	}
	shortest := engine.Never
	for client := range min(s.setup.Clients, mostChecked) {
		if slices.Contains(s.setup.Faults.Never, client) {
			continue
		}
		response := s.estimates.shortest(client, leastBytes)
		if response <= engine.FromSeconds(cutoff.Seconds) {
			return nil
		}
		shortest = min(shortest, response)
	}
	if shortest == engine.Never || s.setup.Clients > mostChecked {
		return nil // no device responds, for another reason, or others may
	}
	what := "download and upload"
	if s.traits.FitsWork {
		what = "download, one step and upload"
	}
	return config.Problem{Key: cutoff.Key, Value: cutoff.Seconds, Want: fmt.Sprintf(
		"must be at least %.4g: the fastest response of any device takes %s for %s, so that no response would ever "+
			"arrive", shortest.Seconds(), results.HumanTime(shortest.Seconds()), what)}
}

// shortest returns a lower bound of the response times of a device. With jitter or
// traces a transfer may be arbitrarily short, and a method may have no work. A device
// that fits its work into the clock cycle does at least one step, and leaves time for an
// uplink at its link's usual speed and the mean waits. The server sees a response at a poll.
func (e *estimates) shortest(client int, leastBytes float64) engine.Time {
	steady := e.setup.Network.Jitter == 0 && e.setup.Bandwidth == nil && e.setup.Channel == nil &&
		e.setup.Network.HubSize == 0
	var least engine.Time
	if steady {
		least = e.clients.ExpectedDownlink(client, leastBytes)
	}
	switch {
	case e.traits.FitsWork:
		_, bytesUp := e.work.Bytes(client)
		up := e.clients.ExpectedUplink(client, bytesUp).Seconds() * (1 + e.setup.Config.Margin)
		least = least.Add(engine.FromSeconds(up))
		if e.setup.Speed == nil && e.setup.Machine == nil {
			least = least.Add(e.clients.Fleet().ComputeTime(client, e.of(client, 1))).Add(e.clients.Launch(client))
		}
		least = least.Add(e.clients.MeanPollWait()).Add(e.clients.MeanLaunchWait()) - rounding
	case steady:
		least = least.Add(e.clients.ExpectedUplink(client, leastBytes))
	}
	return e.clients.SeenAfter(least)
}

// rounding bounds the error, in nanoseconds, of sums of a few rounded times.
const rounding = 10
