package federation

import (
	"fmt"
	"slices"

	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// asking has what a round asked and stopped under a protocol with Traits.Asks.
type asking struct {
	own   []int32 // the clients of the round, once Ask was called; the list before is the selector's
	owns  bool
	more  []int32                  // see More
	draws int                      // the number of calls of More
	bytes func(client int) float64 // see Cohort.Bytes
}

// askingColumns are the columns of rounds under a protocol with Traits.Asks.
var askingColumns = &results.Declared{
	Columns: []results.Column[results.Round]{
		{Name: "asked_more", Label: "clients asked within the round",
			Doc: "clients that the protocol asked within the round, such as backups; empty under those that ask none"},
		{Name: "canceled", Label: "clients stopped", Doc: "clients whose work the server stopped, by the protocol or " +
			"at the end of the round; empty under protocols that ask no clients within a round"},
	},
}

func init() { results.Declare(askingColumns) }

// More draws up to n further clients for Ask, all with the same probability: available ones that the round
// has not asked, and that owe no response. They are in the order of the draws, which are those of the
// round and of no selector. The factory must declare Traits.Asks. The list is valid until the next call.
func (r *OpenRound) More(n int) []int32 {
	f := r.server
	r.mayAsk("More")
	r.more = r.more[:0]
	for client := range f.setup.Clients {
		if r.askable(client) {
			r.more = append(r.more, int32(client))
		}
	}
	stream := rng.New(f.setup.Seed, rng.Further, r.draws, f.round)
	r.draws++
	n = max(0, min(n, len(r.more)))
	for i := range n {
		j := i + stream.IntN(len(r.more)-i)
		r.more[i], r.more[j] = r.more[j], r.more[i]
	}
	return r.more[:n]
}

// askable reports whether the round may ask a client that it has not asked yet.
func (r *OpenRound) askable(client int) bool {
	c := r.server.clients
	_, asked := slices.BinarySearch(r.asked, int32(client))
	return !asked && !r.server.attempts.device(client).chosen && c.Available(client) && !c.AtWork(client)
}

// Ask asks a further client now. Its work is on the model of the round, like that of the others. It returns
// false if the client is unavailable, at work, or of this round already, and after End. The factory must
// declare Traits.Asks.
func (r *OpenRound) Ask(client int) bool {
	f := r.server
	r.mayAsk("Ask")
	if r.ended || !r.askable(client) {
		return false
	}
	if !r.owns {
		r.own, r.owns = append(r.own[:0], r.asked...), true
	}
	at, _ := slices.BinarySearch(r.own, int32(client))
	r.own = slices.Insert(r.own, at, int32(client))
	r.asked = r.own
	listed := []int32{int32(client)}
	f.accounts.reports.ask(listed, f.round, r.Now())
	d := f.attempts.device(client)
	*d = device{steps: d.steps, chosen: true}
	f.clients.Release(client)
	if r.bytes != nil {
		f.clients.SetBytesDown(r.bytes(client))
	}
	f.prepare(client)
	f.attempts.solve(listed)
	if f.Aborted() {
		return false
	}
	f.attempts.prepareUplink(client)
	f.accounts.tally.more++
	r.outstanding++
	r.expected = max(r.expected, f.clients.Send(client))
	return true
}

// Expects reports whether the server expects a response of a client in this round, to it or to an earlier
// one. It knows of no failure before the response is overdue. The factory must declare Traits.Asks.
func (r *OpenRound) Expects(client int) bool {
	r.mayAsk("Expects")
	c := r.server.clients
	return r.server.attempts.expects(client) && (c.AtWork(client) || c.Failed(client))
}

// Cancel stops a client of which the server expects a response. Its work is discarded, by the server too.
// It returns false if none is expected. The factory must declare Traits.Asks.
func (r *OpenRound) Cancel(client int) bool {
	if r.ended || !r.Expects(client) {
		return false
	}
	a := reactions{r.server}
	a.countCanceled(client)
	a.end(client, false)
	r.server.clients.Release(client)
	r.server.attempts.device(client).chosen = false
	r.outstanding--
	return true
}

// countCanceled counts a client whose work is being stopped.
func (r reactions) countCanceled(client int) {
	if r.server.clients.AtWork(client) {
		r.server.accounts.tally.canceled++
	}
}

// mayAsk ends the run of a protocol that calls what its factory does not declare.
func (r *OpenRound) mayAsk(call string) {
	if !r.server.traits.Asks {
		panic(fmt.Sprintf("federation: protocol %s calls OpenRound.%s and does not declare Traits.Asks",
			r.server.setup.Config.Protocol, call))
	}
}
