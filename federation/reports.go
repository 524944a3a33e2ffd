package federation

import (
	"math"

	"fedsim/engine"
)

// reports holds the reports of clients to the server, for selectors and protocols that
// declare History; nil for others.
type reports struct {
	clients []report
	losses  bool // clients report their losses
	rows    bool // and the root mean squares of those of their rows
}

type report struct {
	History
	since engine.Time // when the round started that the client was last asked in
	loss  float64     // reported with the response to it
	rms   float64     // likewise
}

// newReports returns the reports of clients to a selector and a protocol.
func newReports(clients int, declared SelectorFactory) *reports {
	r := &reports{clients: make([]report, clients), losses: declared.Losses || declared.RowLosses,
		rows: declared.RowLosses}
	for client := range r.clients {
		c := &r.clients[client]
		c.LastAsked = -1
		c.Loss, c.loss, c.RMS, c.rms = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return r
}

// of returns the history of a client. There must be reports.
func (r *reports) of(client int) History {
	return r.clients[client].History
}

// ask notes that a round asks the clients listed.
func (r *reports) ask(listed []int32, round int, now engine.Time) {
	if r == nil {
		return
	}
	for _, client := range listed {
		c := &r.clients[client]
		c.Asked++
		c.LastAsked, c.since = int32(round), now
	}
}

// respond notes that the response of a client has arrived.
func (r *reports) respond(client int, now engine.Time) {
	if r == nil {
		return
	}
	c := &r.clients[client]
	c.Responses++
	c.Round, c.Time, c.Loss, c.RMS = c.LastAsked, now-c.since, c.loss, c.rms
}
