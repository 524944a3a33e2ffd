package session

import (
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
)

// driver is a session as the server sees it. The messages of Round have the work.
type driver struct{ *Session }

var _ federation.Messenger = driver{}

// Solve passes on the work that messages say.
func (d driver) Solve(listed []int32) (done bool) {
	for _, t := range listed {
		if d.server.Solves(int(t)) {
			m := d.queue.of(int(t))
			d.server.SetWork(int(t), 0, m.Work, m.BytesUp)
		}
	}
	return true
}

// Commit hears that the protocol takes the response of a client.
func (d driver) Commit(t int, _ float64) {
	d.taken = append(d.taken, d.answer[t])
	m := d.queue.withID(d.answer[t])
	d.sizes[t] = [2]float64{m.BytesDown, m.BytesUp}
}

// Discard changes nothing: the other program knows the work.
func (d driver) Discard(int) {}

// RunUntil lets virtual time pass until an instant, or until the call is over.
func (d driver) RunUntil(until engine.Time) { d.run(until) }

// Stop ends RunUntil.
func (d driver) Stop() { d.stop() }

// Downloaded lets a client wait for Work when its message, which was not lost, leaves that open.
func (d driver) Downloaded(t int) {
	m := d.queue.of(t)
	if !m.Undecided || d.clients.State(t).DownlinkLost {
		return
	}
	m.state = asking
	d.call.asking++
	d.clients.Hold(t)
	d.call.notify(m, NoticeWork, d.Now())
	d.stop()
}

// Responded notifies the driver of a response.
func (d driver) Responded(t int, ofRound bool) {
	place := d.queue.current[t]
	m := &d.queue.messages[place]
	if !ofRound {
		d.server.Note(federation.ResponseArrived, t, 0)
		if m.update {
			d.server.Accounts().Responded(t)
		}
	}
	d.answer[t] = m.ID
	d.call.notify(m, NoticeResponse, d.Now())
	d.end(place, responded)
}

// Failed hears that an attempt has failed. That of a round the server may repeat.
func (d driver) Failed(t int, why clients.Reason, ofRound bool) {
	if ofRound {
		d.queue.of(t).why = why
	} else {
		d.fail(t, why)
	}
}

// Ended hears that a message of Round has no response. Between two rounds the driver learns
// of it like of other failures; in a round it does when the round ends.
func (d driver) Ended(t int) {
	place := d.queue.current[t]
	if d.call.inRound || place < 0 {
		return
	}
	if m := &d.queue.messages[place]; m.state == underWay {
		m.state = failed
		d.detectAt(place)
	}
}
