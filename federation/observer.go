package federation

import (
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/results"
)

// Observer receives the events of the server of one run, too. The observer of a clients.Feature may implement it.
type Observer interface {
	clients.Observer
	// Computed is called when the server has computed between two instants.
	Computed(from, to engine.Time)
	// EndRound may add to the results of a round that ends; round 0 comes first. The clients have drawn all
	// energy until now.
	EndRound(now engine.Time, r *results.Round)
	// Spent reports whether a budget is spent, so that no further round begins. Sessions do not ask.
	Spent() bool
}

// Spent reports whether an observer has spent its budget.
func (s *Server) Spent() bool {
	for _, o := range s.accounts.observers {
		if o.Spent() {
			return true
		}
	}
	return false
}
