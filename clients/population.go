package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
	"fedsim/network"
)

// population holds the state of all clients. All others reach the state of a client
// through at, so that a lazy population makes only the clients that are asked.
type population struct {
	roster *roster.Roster
	each   *roster.Column[client]
	sizes  messageSizes
	due    *roster.Column[engine.Time] // when the response to its attempt is expected; nil unless Setup.Due
	// done is the share of its phase that was over when a client last began to work on it;
	// nil: always 0, since clients are always available.
	done *roster.Column[float64]
	// overheads has the inputs of the overheads of each client; nil: there are none.
	overheads []overheads

	unavailable int // the number of clients that cannot be started
}

// Unavailable returns how many clients are not available. It is 0 in a lazy population, where nobody
// knows.
func (p *population) Unavailable() int {
	if p.roster.Lazy() {
		return 0
	}
	return p.unavailable
}

// overheads are the inputs of the overheads of a client's work.
type overheads struct {
	steps, traffic float64
	jitter         float64 // the factor on the duration of the computation
}

func newPopulation(s *Setup) population {
	r := roster.New(s.Clients, s.Lazy)
	p := population{roster: r, each: roster.NewColumn[client](r, nil), sizes: messageSizes{same: -1, roster: r}}
	if s.Due {
		p.due = roster.NewColumn[engine.Time](r, nil)
	}
	if s.Availability != nil || s.timesOut() {
		p.done = roster.NewColumn[float64](r, nil)
	}
	return p
}

func (p *population) at(c int) *client { return p.each.At(c) }

// Len returns how many clients there are.
func (p *population) Len() int { return p.roster.Len() }

// Known returns how many clients have state: all, or in a lazy population those that were asked.
func (p *population) Known() int { return p.roster.Known() }

// Roster returns the clients that have state, to read.
func (p *population) Roster() *roster.Roster { return p.roster }

// over returns the share of a client's phase that was over when the client began or
// continued it.
func (p *population) over(client int) float64 {
	if p.done == nil {
		return 0
	}
	return *p.done.At(client)
}

// setOver sets what over returns.
func (p *population) setOver(client int, share float64) {
	if p.done != nil {
		*p.done.At(client) = share
	}
}

// message returns the downlink or the uplink of the present attempt of a client.
func (p *population) message(c int, way network.Direction) message {
	d := p.at(c)
	if way == network.Down {
		return message{client: c, way: way, bytes: p.sizes.of(c), length: d.down}
	}
	return message{client: c, way: way, bytes: d.bytesUp, length: d.up}
}

// work returns the computation of the present attempt of a client.
func (p *population) work(c int) work {
	d := p.at(c)
	w := work{client: c, slow: d.slow, jitter: 1}
	w.Work, _ = p.Work(c)
	if p.overheads != nil {
		w.jitter = p.overheads[c].jitter
	}
	return w
}

// State returns the present state of a client.
func (p *population) State(client int) State {
	d := p.at(client)
	return State{
		Activity: d.activity(), Available: d.available(), Unseen: d.is(unseen),
		Failed: d.failed(), Paused: d.is(paused), Refuses: d.is(refuses),
		DownlinkLost: d.is(downlinkLost), UplinkLost: d.is(uplinkLost),
		Number: int(d.number), Try: int(d.try),
		Downlink: d.down, Compute: d.compute, Uplink: d.up, Work: p.work(client).Work, BytesUp: d.bytesUp,
	}
}

// Available reports whether a client can be started, unless it is at work.
func (p *population) Available(client int) bool { return p.at(client).available() }

// Idle reports whether a client is available and not at work. One whose attempt has
// failed is not idle before Release.
func (p *population) Idle(client int) bool {
	d := p.at(client)
	return d.available() && d.phase == idle && !d.is(unseen)
}

// Failed reports whether the last attempt of a client has failed, and the client was
// not released.
func (p *population) Failed(client int) bool { return p.at(client).failed() }

// AtWork reports whether a client is at an attempt: it works, is paused, or was held, or the
// server has not polled for its response.
func (p *population) AtWork(client int) bool {
	d := p.at(client)
	return d.working() || d.is(paused|onHold|unseen)
}

// Paused reports whether the attempt of a client continues when it is available again.
func (p *population) Paused(client int) bool { return p.at(client).is(paused) }

// WhyUnavailable returns why a client is not available.
func (p *population) WhyUnavailable(client int) Reason {
	switch d := p.at(client); {
	case d.empty():
		return BatteryDepleted
	case d.is(unavailable):
		return BecameUnavailable
	default:
		return BatteryLow
	}
}

// Number returns the number of a client's last attempt.
func (p *population) Number(client int) int { return int(p.at(client).number) }

// Try returns which try a client's last attempt was, from 0 on.
func (p *population) Try(client int) int { return int(p.at(client).try) }

// SetNumber sets the number of the last attempt of a client that was never started.
func (p *population) SetNumber(client, number int) { p.at(client).number = int32(number) }

// Due returns when the response to the last attempt is expected, or was. Setup.Due
// must be set.
func (p *population) Due(client int) engine.Time { return *p.due.At(client) }

// SetWork sets the work of an attempt, and the size of its response, until the client
// begins to compute. PrepareUplink must follow. It may be called for several clients at
// once.
func (p *population) SetWork(client int, w devices.Work, bytesUp float64) {
	d := p.at(client)
	d.flops, d.bytesUp = w.FLOPs, bytesUp
	if p.overheads != nil {
		p.overheads[client].steps, p.overheads[client].traffic = w.Steps, w.Traffic
	}
}

// Work returns what SetWork has set. Without overheads it is the FLOPs alone.
func (p *population) Work(client int) (w devices.Work, bytesUp float64) {
	d := p.at(client)
	w.FLOPs = d.flops
	if p.overheads != nil {
		w.Steps, w.Traffic = p.overheads[client].steps, p.overheads[client].traffic
	}
	return w, d.bytesUp
}

// DropsAnywhere reports whether the prepared attempt drops at a share of all its work,
// so that its phase depends on SetWork.
func (p *population) DropsAnywhere(client int) bool { return p.at(client).drops == anywhere }

// DropsAtOnce reports whether the prepared attempt drops before it begins.
func (p *population) DropsAtOnce(client int) bool { return p.at(client).drops == failed }

// Hold lets a client wait with its message until Proceed. It is for
// Listener.Downloaded, which then calls Stop. Nothing may happen before Proceed or
// Cancel.
func (p *population) Hold(client int) { p.at(client).set(onHold, true) }

// SetBytesDown sets the size of the messages of the attempts that are prepared from
// now on.
func (p *population) SetBytesDown(bytes float64) { p.sizes.setAll(bytes) }

// SetBytesDownOf sets the size of the message of the attempt of a client that is prepared
// next. Sizes are those of the clients from then on, until SetBytesDown.
func (p *population) SetBytesDownOf(client int, bytes float64) { p.sizes.set(client, bytes) }

// miss lets a client fail whose hub has not received the server's message: the response was due at
// an instant.
func (p *population) miss(client int, due engine.Time) {
	if p.due != nil {
		*p.due.At(client) = due
	}
	if d := p.at(client); d.empty() {
		d.phase = drained
	} else {
		d.phase = failed
	}
}
