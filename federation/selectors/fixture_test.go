package selectors

import (
	"testing"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/servertest"
)

// rehearsal is a selector without a run: a test says what has happened.
type rehearsal struct {
	federation.Selector
	server  *servertest.Server
	factory federation.SelectorFactory
	past    []federation.History // by client
}

// rehearse returns a selector on the world of package servertest. The options are the default ones for nil.
func rehearse(t testing.TB, name string, o config.Options, setup federation.SelectorSetup,
	change func(*federation.Setup)) *rehearsal {
	t.Helper()
	factory, _ := federation.LookupSelector(name)
	if o == nil && factory.Options != nil {
		o = factory.Options()
	}
	if factory.Declare != nil {
		factory.Declare(o, &factory)
	}
	selector, err := factory.New(setup, o)
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.World(federation.WaitForAll, change)
	r := &rehearsal{selector, servertest.Start(t, s, 1), factory, make([]federation.History, s.Clients)}
	for client := range r.past {
		r.past[client].LastAsked = -1
	}
	return r
}

// rows makes the clients those of so many rows each.
func rows(of []int32) func(*federation.Setup) {
	return func(s *federation.Setup) { s.Clients, s.Rows = len(of), of }
}

// open opens a round for so many of the available clients; nil: of all.
func (r *rehearsal) open(round, size int, available []int32) *federation.Selection {
	return r.server.Rehearse(r.factory, round, size, available, r.past)
}

// pick lets the selector choose in a round.
func (r *rehearsal) pick(round, size int, available []int32) []int32 {
	return r.Select(r.open(round, size, available))
}

// respond notes that a client has responded to a round that asked it.
func (r *rehearsal) respond(client int32, h federation.History) {
	p := &r.past[client]
	h.Asked, h.LastAsked, h.Responses = p.Asked+1, h.Round, p.Responses+1
	*p = h
}
