package federation

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/internal/tools/roster"
)

// attempts are the devices as the server sees them, and their local work.
type attempts struct {
	clients   *clients.Clients
	estimates *estimates
	open      *OpenRound
	driver    Driver
	losses    Losses   // the driver, if its clients report losses; nil otherwise
	interrupt func()   // discards the open round
	limiter   Limiter  // nil: the protocol does not limit work
	weigher   Weigher  // nil: updates have no weights
	reports   *reports // nil: no plugin uses the history of clients
	partial   *Partial // nil: clients do all their epochs
	tiers     *tiers   // nil: hubs have no rounds of their own
	traits    Traits
	devices   *roster.Column[device]
	budgets   *roster.Column[int32] // the steps that the protocol allows a device; nil: the driver decides
	waits     bool                  // see mustWait
	due       []Due
	done      []Done // of those due
}

// device returns the state of a device on the server.
func (a *attempts) device(client int) *device { return a.devices.At(client) }

// limit sets how many steps the protocol allows a device.
func (a *attempts) limit(client int) {
	if a.limiter != nil {
		*a.budgets.At(client) = int32(min(max(0, a.limiter.Steps(a.open, client)), Unlimited))
	}
}

// device is the state of a device on the server.
type device struct {
	steps     int32 // of its work for this response
	chosen    bool  // the server expects its response, to the open round or to an earlier one
	solved    bool  // the local work is done, tentatively
	responded bool  // the server has the response
	dropped   bool  // the device has dropped out in this round
}

// Attempt is the server's knowledge of the present attempt of a client.
type Attempt struct {
	Expected  bool // the server expects a response, to the open round or to an earlier one
	Solved    bool // the local work is done, tentatively
	Responded bool // the server has the response
	Dropped   bool // the client has dropped in this round
	Steps     int  // the number of steps of the local work
	Limit     int  // how many the protocol allows; Unlimited: the driver decides
}

// Attempt returns the server's knowledge of the present attempt of a client.
func (s *Server) Attempt(client int) Attempt {
	d := s.attempts.device(client)
	return Attempt{
		Expected: d.chosen, Solved: d.solved, Responded: d.responded, Dropped: d.dropped,
		Steps: int(d.steps), Limit: int(s.attempts.budget(client)),
	}
}

// budget returns how many steps a device may take for the response that it was asked for.
func (a *attempts) budget(client int) int32 {
	if a.budgets == nil {
		return Unlimited
	}
	return *a.budgets.At(client)
}

// prepareUplink prepares the uplink of a device. If its work is not done yet, its length is
// estimated.
func (a *attempts) prepareUplink(client int) {
	c := a.clients
	if !a.device(client).solved {
		var work devices.Work
		switch {
		case !a.traits.Continuous: // it will not compute
		case c.Number(client) == 0:
			work = a.estimates.usual(client)
		default: // the last one of the device
			work, _ = c.Work(client)
		}
		_, bytesUp := a.estimates.work.Bytes(client)
		c.SetWork(client, work, bytesUp)
	}
	c.PrepareUplink(client)
}

// mustSolve reports whether a device may compute in this round. If the round waits for
// all, every device will. A device that drops may be asked again, and its response is due when its
// work would be done. Without rounds only devices that compute are listed.
func (a *attempts) mustSolve(client int) bool {
	if a.traits.WaitsForAll || a.traits.Continuous {
		return true
	}
	return a.clients.Available(client) && a.budget(client) > 0 && (!a.clients.DropsAtOnce(client) || a.waits)
}

// mostDue is the largest number of clients whose work is due in one call, so that the work of a
// million needs no space of its own.
const mostDue = 1 << 12

// solve lets the driver do the local work of those devices listed that must.
func (a *attempts) solve(listed []int32) {
	for all := range slices.Chunk(listed, mostDue) {
		if !a.solveSome(all) {
			a.interrupt()
			return
		}
	}
	a.reportLosses(listed)
}

func (a *attempts) solveSome(listed []int32) (done bool) {
	a.due = a.due[:0]
	for _, client := range listed {
		d := a.device(int(client))
		if d.solved = a.mustSolve(int(client)); d.solved {
			c := int(client)
			a.due = append(a.due, Due{Client: client, Round: int32(a.localRound(c)), Steps: a.budget(c)})
		}
	}
	a.done = slices.Grow(a.done[:0], len(a.due))[:len(a.due)]
	if !a.driver.Work(a.due, a.done) {
		return false
	}
	for i := range a.due {
		client, w := int(a.due[i].Client), &a.done[i]
		a.device(client).steps = int32(min(w.Count, math.MaxInt32))
		a.clients.SetWork(client, w.Work, w.BytesUp)
	}
	return true
}

// reportLosses lets those of the clients listed that have done their work report the losses of
// the model that they were sent.
func (a *attempts) reportLosses(listed []int32) {
	r := a.reports
	if r == nil || !r.losses {
		return
	}
	var solved []int32
	for _, client := range listed {
		if a.device(int(client)).solved {
			solved = append(solved, client)
		}
	}
	losses, rms := make([]float64, len(solved)), make([]float64, len(solved))
	if r.rows {
		a.losses.RowLosses(solved, losses, rms)
	} else {
		a.losses.Losses(solved, losses)
	}
	for i, client := range solved {
		if r.clients[client].loss = losses[i]; r.rows {
			r.clients[client].rms = rms[i]
		}
	}
}

// stepsBehind returns the steps of the work behind the response of a device, in all rounds of
// its hub that had one.
func (a *attempts) stepsBehind(client int) float64 {
	if ti := a.tiers; ti != nil {
		return float64(ti.steps[client])
	}
	return float64(a.device(client).steps)
}

// countReceived counts the response of a device for the protocol. Partial work that the
// server drops counts only where the round waits for everybody.
func (a *attempts) countReceived(client int) {
	if a.traits.WaitsForAll || !a.partial.drops(client) {
		a.open.received++
	}
}

// mustWait reports whether it matters when the server notices a failure. It does not where the end of
// a round is known when the round opens, and nothing is expected behind it.
func (a *attempts) mustWait(sharing bool) bool {
	switch end := a.traits.End; {
	case a.asksAgain(0), a.traits.Late, a.traits.Asks, a.estimates.setup.Network.HubSize > 0,
		a.estimates.setup.Config.AnswerTimeoutS > 0:
		return true
	case end == EndsWithCharge:
		return sharing
	default:
		return end != EndsAtDeadline
	}
}

// expects reports whether the server expects a response of a device that has not come.
func (a *attempts) expects(client int) bool {
	return a.device(client).chosen && !a.device(client).responded
}

// needsResponse reports whether the round cannot end without a response of a device that has not
// come.
func (a *attempts) needsResponse(client int) bool {
	d := a.device(client)
	return a.traits.WaitsForAll && d.chosen && !d.responded && !a.clients.Held(client)
}

// asksAgain reports whether the server asks a device again after a number of tries: the same
// device in a round, another one without rounds.
func (a *attempts) asksAgain(try int) bool {
	return a.traits.Continuous || a.traits.WaitsForAll || try < a.estimates.setup.Config.Retries
}

// taken reports whether the server takes a response of a device in the round that closes.
func (a *attempts) taken(client int) bool {
	d := a.device(client)
	return d.chosen && d.responded && a.open.enough && !a.partial.drops(client)
}

// commit makes the work of a device final, with the weight that the protocol gives to its update.
func (a *attempts) commit(client int) {
	weight := 1.0
	if a.weigher != nil {
		weight = a.weigher.Weight(a.open, client)
	}
	a.driver.Commit(client, weight)
}

// localRound returns how often a client that takes part in everything has worked before the
// attempt that a client was asked for; 0 without rounds.
func (a *attempts) localRound(client int) int {
	if a.tiers == nil {
		return a.open.Number()
	}
	return a.clients.Number(client)
}
