package federation

import (
	"fmt"
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
	server *Server
	work   *Workload
}

// flops returns the FLOPs of so many steps of client t.
func (e *estimates) flops(t, steps int) float64 {
	if e.work.FLOPs == nil {
		return float64(float64(steps) * e.work.StepFLOPs)
	}
	return e.work.FLOPs(t, steps)
}

// of returns the work of so many steps of client t.
func (e *estimates) of(t, steps int) devices.Work {
	w := devices.Work{FLOPs: e.flops(t, steps), Steps: float64(steps)}
	if e.work.Overheads != nil {
		batches, traffic := e.work.Overheads(t, steps)
		w.Steps, w.Traffic = float64(batches), traffic
	}
	return w
}

// pass returns the work of one pass of client t over its rows.
func (e *estimates) pass(t int) devices.Work { return e.of(t, e.server.setup.RowsOf(t)) }

// usual returns the work of client t in a round where nothing limits it.
func (e *estimates) usual(t int) devices.Work {
	if e.work.Usual == nil {
		return e.pass(t)
	}
	return e.work.Usual(t)
}

// least returns the work whose time the protocol charges to every client: that of the steps that
// it charges, on the client where they take the most FLOPs.
func (e *estimates) least() (most devices.Work) {
	f := e.server
	steps := f.traits.ChargedPasses * float64(f.minRows)
	if steps == 0 {
		return devices.Work{}
	}
	for t := range f.setup.Rows {
		if w := e.of(t, max(1, int(steps))); t == 0 || w.FLOPs > most.FLOPs {
			most = w
		}
	}
	if e.work.FLOPs == nil {
		most.FLOPs = steps * e.work.StepFLOPs
	}
	return most
}

// response returns how long client t usually takes from the server's message to its response,
// with one pass over its rows.
func (e *estimates) response(t int) engine.Time {
	down, up := e.work.Bytes(t)
	return e.server.clients.ExpectedResponse(t, down, e.pass(t), up)
}

// stepsWithin returns how many steps client t can do such that its response takes a given time;
// see OpenRound.StepsWithin.
func (e *estimates) stepsWithin(t int, length engine.Time, margin float64) float64 {
	c := e.server.clients
	_, bytesUp := e.work.Bytes(t)
	down, usual := c.Transfers(t, bytesUp)
	up := float64(usual.Seconds() * (1 + margin))
	left := length.Seconds() - down.Seconds() - up - c.MeanPollWait().Seconds()
	if rounds := float64(e.server.perRound()); rounds > 1 { // of the hub, each with a message and a response
		short := c.State(t).Downlink.Seconds() + float64(c.ExpectedUplink(t, bytesUp).Seconds()*(1+margin))
		left = (left - float64((rounds-1)*short)) / rounds
	}
	flops, most := c.FLOPsWithin(t, left), 0.0
	if e.work.Within == nil {
		most = flops / e.work.StepFLOPs
	} else {
		most = e.work.Within(t, flops)
	}
	if !c.Fleet().HasOverheads(t) || !(most >= 1) {
		return most
	}
	return float64(sort.Search(int(min(most, unlimited)), func(n int) bool {
		w := e.of(t, n+1)
		w.FLOPs += e.work.MessageFLOPs
		return !c.Within(t, w, left)
	}))
}

// chargeAuthors charges every device of the round as the authors' drivers do: 8, 6 or 4
// units a step, the work of all tasks added up, or for a method that waits for everyone
// (CoCoA) the most steps of any task times their number. Every device is busy for as
// long as that sum.
func (e *estimates) chargeAuthors() {
	f := e.server
	if f.setup.Config.Cost != Authors {
		return
	}
	total, most := 0.0, 0.0
	for _, t := range f.open.asked {
		steps := 0.0
		if d := f.attempts.device(int(t)); d.solved {
			steps = float64(d.steps)
		}
		if f.traits.ChargedPasses > 0 {
			steps = f.traits.ChargedPasses * float64(f.minRows)
		}
		total += steps
		most = max(most, steps)
	}
	if e.work.AllClients {
		total = most * float64(len(f.open.asked))
	}
	f.clients.SetComputeTime(total * e.work.AuthorUnits * authorUnit)
}

// authorUnit is one unit of the authors' drivers in seconds: the paper gives its
// estimated times in milliseconds.
const authorUnit = 1e-3

// mostChecked is the most devices that CheckDeadline looks at.
const mostChecked = clients.MaxClients / 16

// CheckDeadline reports a deadline that no device can ever meet: every round would end
// without a response. It uses lower bounds of response times, so it never refuses a
// deadline that a device can meet. No message is smaller than leastBytes.
func (f *Server) CheckDeadline(leastBytes float64) error {
	cfg := &f.setup.Config
	if cfg.DeadlineS == 0 || cfg.Quantile > 0 || !cfg.uses("deadline_s") {
		return nil
	}
	if !f.traits.FitsWork && f.traits.Late { // a response counts in any round
		return nil
	}
	shortest := engine.Never
	for t := range min(f.setup.Clients, mostChecked) {
		if slices.Contains(f.setup.Faults.Never, t) {
			continue
		}
		response := f.estimates.shortest(t, leastBytes)
		if response <= engine.FromSeconds(cfg.DeadlineS) {
			return nil
		}
		shortest = min(shortest, response)
	}
	if shortest == engine.Never || f.setup.Clients > mostChecked {
		return nil // no device responds, for another reason, or others may
	}
	what := "download and upload"
	if f.traits.FitsWork {
		what = "download, one step and upload"
	}
	return config.Problem{Key: "federation.deadline_s", Value: cfg.DeadlineS, Want: fmt.Sprintf(
		"must be at least %.4g: the fastest response of any device takes %s for %s, so that no response would ever arrive", shortest.Seconds(), results.HumanTime(shortest.Seconds()), what)}
}

// shortest returns a lower bound of the response times of device t. With jitter or
// traces a transfer may be arbitrarily short, and a method may have no work. A device
// that fits its work into the clock cycle does at least one step, and leaves time for an
// uplink at its link's usual speed and the mean waits. The server sees a response at a poll.
func (e *estimates) shortest(t int, leastBytes float64) engine.Time {
	f := e.server
	steady := f.setup.Network.Jitter == 0 && f.setup.Bandwidth == nil && f.setup.Network.HubSize == 0
	var least engine.Time
	if steady {
		least = f.clients.ExpectedDownlink(t, leastBytes)
	}
	switch {
	case f.traits.FitsWork:
		_, bytesUp := e.work.Bytes(t)
		up := f.clients.ExpectedUplink(t, bytesUp).Seconds() * (1 + f.setup.Config.Margin)
		least = least.Add(engine.FromSeconds(up))
		if f.setup.Speed == nil {
			least = least.Add(f.clients.Fleet().ComputeTime(t, e.of(t, 1))).Add(f.clients.Launch(t))
		}
		least = least.Add(f.clients.MeanPollWait()).Add(f.clients.MeanLaunchWait()) - rounding
	case steady:
		least = least.Add(f.clients.ExpectedUplink(t, leastBytes))
	}
	return f.clients.SeenAfter(least)
}

// rounding bounds the error, in nanoseconds, of sums of a few rounded times.
const rounding = 10
