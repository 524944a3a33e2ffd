package learning

import (
	"cmp"
	"fmt"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
)

// workload is the work and the messages of a method, with what privacy adds to them.
type workload struct {
	algorithms.Workload
	f     *Federation
	usual struct{ down, up int } // numbers of usual messages, of a method that counts in them
}

// plan describes the work before the server asks for it.
func (w *workload) plan() federation.Workload {
	s, about := &w.f.setup, &w.f.method.About
	p := federation.Workload{
		Overheads: w.overheads, MessageFLOPs: w.messageFLOPs(w.usual.up),
		Name: about.Name, PassFLOPs: float64(s.MinRows()) * s.Shape.StepFLOPs(), StepFLOPs: w.StepFLOPs,
		Within: w.stepsWithin, Usual: w.usualWork, Bytes: w.usualBytes, Model: w.sentAs,
		Weights: w.f.learns() && about.Weights == algorithms.Yes,
		Epochs:  int(w.Epochs), AuthorUnits: w.AuthorUnits, AllClients: about.Needs.AllClients,
		HubRounds: about.HubRounds, NoMessages: about.Messages.None,
		CountUpdates: len(w.f.evaluation.named) > 0,
	}
	if w.FLOPs != nil {
		p.FLOPs = w.flops
	}
	if w.BatchSteps != nil {
		p.BatchSteps = func(client, batches int) int { return w.BatchSteps(int(s.Rows[client]), batches) }
	}
	if w.f.private.masks() {
		p.RoundTrips = w.f.private.masking.RoundTrips()
	}
	reports, rows := about.Losses == algorithms.Yes, s.Problem != nil && !about.Own
	if !reports && !rows {
		p.NoLosses = "must be another in a run without learning, which has no losses"
		if about.Own {
			p.NoLosses = fmt.Sprintf("must be another: %s cannot report the losses of clients", about.Name)
		}
	}
	if rows && s.Shape.Given.Values > 0 && !s.Shape.Given.Squares {
		p.NoSquaredLosses =
			"must be another, or have options that need mean losses alone: the program of the model reports no " +
				"squared_losses"
	}
	if !rows {
		p.NoRowLosses =
			fmt.Sprintf("must be another, or have options that need mean losses alone: %s cannot report the losses "+
				"of single rows", about.Name)
	}
	return p
}

// flops returns the FLOPs of so many steps of a client.
func (w *workload) flops(client, steps int) float64 { return w.Of(w.f.setup.RowsOf(client), steps) }

// overheads returns the mini-batches and the traffic of so many steps of a client.
func (w *workload) overheads(client, steps int) (batches int, traffic float64) {
	return w.Overheads(w.f.setup.RowsOf(client), steps)
}

// done returns local work of a client that a method has done.
func (w *workload) done(client int, response *algorithms.Response) devices.Work {
	batches, traffic := w.overheads(client, response.Steps)
	return devices.Work{
		FLOPs: response.FLOPs + w.exchangeFLOPs(response.Values),
		Steps: float64(cmp.Or(response.Batches, batches)), Traffic: cmp.Or(response.Traffic, traffic),
	}
}

// messageFLOPs returns the work of a client for messages of so many numbers: their codes, and
// secure aggregation.
func (w *workload) messageFLOPs(values int) float64 {
	return w.exchangeFLOPs(values) + w.f.method.About.Messages.FLOPs
}

// stepsWithin returns how many steps a client can do with so many FLOPs, beside its work for
// messages.
func (w *workload) stepsWithin(client int, flops float64) float64 {
	flops = flops - w.exchangeFLOPs(w.usual.up) - w.f.method.About.Messages.FLOPs
	return w.Within(w.f.setup.RowsOf(client), flops)
}

// usualWork returns the work of a client in a round where nothing limits it: that of its
// method, of one pass over its rows where the method has no setting for it or it is not known.
// The work on the codes of messages and on masks is in it.
func (w *workload) usualWork(client int) devices.Work {
	rows := w.f.setup.RowsOf(client)
	n := rows
	if w.Steps != nil {
		if n = w.Steps(rows, algorithms.NoLimit); n == algorithms.NoLimit {
			n = rows
		}
	}
	batches, traffic := w.overheads(client, n)
	flops := w.flops(client, n) + w.messageFLOPs(w.usual.up)
	return devices.Work{FLOPs: flops, Steps: float64(batches), Traffic: traffic}
}

// within returns how many of the steps allowed a device may take: of those that it could at its
// usual speed, as large a part as its epochs are of all.
func (w *workload) within(client, allowed int) int {
	some, all := w.f.server.Partial().Epochs(client)
	if some == 0 {
		return allowed
	}
	n, made := w.f.setup.RowsOf(client), int64(some)
	usual := int(min(int64(allowed), int64(n)*int64(all)))
	if w.Steps != nil {
		usual = w.Steps(n, allowed)
	}
	steps := float64(int64(usual) * made / int64(all))
	if w.FLOPs != nil { // in no more time
		steps = min(steps, w.Within(n, float64(w.Of(n, usual)*float64(made))/float64(all)))
	}
	return int(max(1, steps))
}

// sentAs returns which of the models that the server sends is for a device.
func (w *workload) sentAs(client int) int {
	s := &w.f.setup
	switch kind := w.f.method.About.Model; {
	case kind == algorithms.DeviceModels:
		return client
	case kind == algorithms.OneModel, kind == algorithms.PersonalModels:
		return 0
	case s.Problem != nil:
		return s.Problem.TaskOf(client)
	default:
		return client / max(1, s.PerTask)
	}
}

// messageBytes returns the size of a message of so many numbers, or bytes of a method that
// counts in them.
func (w *workload) messageBytes(amount int) float64 {
	if w.f.method.About.Messages.Bytes {
		return w.f.clients.MessageBytes(0) + float64(amount)
	}
	return w.f.clients.MessageBytes(amount)
}

// Usual returns the work of a client in a round where nothing limits it, and the bytes of its messages.
func (f *Federation) Usual(client int) (work devices.Work, down, up float64) {
	down, up = f.work.usualBytes(client)
	return f.work.usualWork(client), down, up
}

// Clients returns the clients, to read.
func (f *Federation) Clients() *clients.Clients { return f.clients }

// Cutoff returns federation.Server.Cutoff.
func (f *Federation) Cutoff() federation.Cutoff { return f.server.Cutoff() }

// UsualResponse returns how long a client usually takes from the server's message to its response, behind a message
// that stops it if there may be one.
func (f *Federation) UsualResponse(client int) engine.Time {
	down, up := f.work.usualBytes(client)
	if f.method.About.Needs.Continuous {
		down += f.clients.MessageBytes(0)
	}
	return f.clients.ExpectedResponse(client, down, f.work.usualWork(client), up)
}

// usualBytes returns the usual sizes of the server's message to a device and of its
// response.
func (w *workload) usualBytes(client int) (down, up float64) {
	if usual := w.f.method.About.Messages.Usual; usual != nil {
		down, up := usual(client)
		return w.messageBytes(down), w.messageBytes(up)
	}
	return w.f.clients.MessageBytes(w.usual.down) + w.exchangedDown(), w.responseBytes(w.usual.up)
}

// leastBytes returns a size that no message is below.
func (w *workload) leastBytes() float64 {
	if m := &w.f.method.About.Messages; w.Steps != nil && !m.Differ && !m.Bytes && !w.f.private.masks() {
		return w.f.clients.MessageBytes(min(w.usual.down, w.usual.up))
	}
	return w.f.clients.MessageBytes(0) // a method of a plugin may send as little as a header
}

// exchangedDown returns the bytes that the server sends a client for secure aggregation.
func (w *workload) exchangedDown() float64 {
	if !w.f.private.masks() {
		return 0
	}
	e := w.f.private.masking
	return e.BytesDown() + float64(float64(e.RoundTrips())*w.f.clients.MessageBytes(0))
}

// responseBytes returns the size of a response of so many numbers; masked, with the
// messages of the exchange, under secure aggregation.
func (w *workload) responseBytes(amount int) float64 {
	if !w.f.private.masks() {
		return w.messageBytes(amount)
	}
	e := w.f.private.masking
	return e.MaskedBytes(amount) + e.BytesUp() + float64(float64(1+e.RoundTrips())*w.f.clients.MessageBytes(0))
}

// exchangeFLOPs returns the work of a client for secure aggregation.
func (w *workload) exchangeFLOPs(values int) float64 {
	if !w.f.private.masks() {
		return 0
	}
	return w.f.private.masking.ClientFLOPs(values)
}
