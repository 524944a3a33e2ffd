package session

import (
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
)

// driver is a session as the server sees it. The messages of Round have the work.
type driver struct{ *Session }

var _ federation.Messenger = driver{}

// Work passes on the work that messages say.
func (d driver) Work(due []federation.Due, into []federation.Done) (done bool) {
	for i := range due {
		m := d.queue.of(int(due[i].Client))
		into[i] = federation.Done{Work: m.Work, BytesUp: m.BytesUp}
	}
	return true
}

// Commit hears that the protocol takes the response of a client.
func (d driver) Commit(client int, _ float64) {
	d.taken = append(d.taken, d.answer[client])
	m := d.queue.withID(d.answer[client])
	d.sizes[client] = [2]float64{m.BytesDown, m.BytesUp}
}

// Discard changes nothing: the other program knows the work.
func (d driver) Discard(int) {}

// RunUntil lets virtual time pass until an instant, or until the call is over.
func (d driver) RunUntil(until engine.Time) { d.run(until) }

// Stop ends RunUntil.
func (d driver) Stop() {
	d.call.stopped = true
	d.clients.Stop()
}

// Downloaded lets a client wait for Work when its message, which was not lost, leaves that open.
func (d driver) Downloaded(client int) {
	m := d.queue.of(client)
	if !m.Undecided || d.clients.State(client).DownlinkLost {
		return
	}
	m.state = asking
	d.call.asking++
	d.clients.Hold(client)
	d.call.notify(m, NoticeWork, d.Now())
	d.Stop()
}

// Responded notifies the driver of a response.
func (d driver) Responded(client int, ofRound bool) {
	place := d.queue.current[client]
	m := &d.queue.messages[place]
	if !ofRound {
		d.server.Note(federation.ResponseArrived, client, 0)
		if m.update {
			d.server.Accounts().Responded(client)
		}
	}
	d.answer[client] = m.ID
	d.call.notify(m, NoticeResponse, d.Now())
	d.end(place, responded)
}

// Failed hears that an attempt has failed. That of a round the server may repeat.
func (d driver) Failed(client int, why clients.Reason, ofRound bool) {
	if ofRound {
		d.queue.of(client).why = why
	} else {
		d.fail(client, why)
	}
}

// Ended hears that a message of Round has no response. Between two rounds the driver learns
// of it like of other failures; in a round it does when the round ends.
func (d driver) Ended(client int) {
	place := d.queue.current[client]
	if d.call.inRound || place < 0 {
		return
	}
	if m := &d.queue.messages[place]; m.state == underWay {
		m.state = failed
		d.detectAt(place)
	}
}
