package federation

import (
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/results"
)

// Observer sees what the server of one run does, too. That of a clients.Feature may be one.
type Observer interface {
	clients.Observer
	// Computed tells that the server computed from one instant to another.
	Computed(from, to engine.Time)
	// EndRound may add to the results of a round that ends; round 0 comes first. The clients have drawn all
	// energy until now.
	EndRound(now engine.Time, r *results.Round)
	// Spent reports whether a budget is spent, so that no further round begins. Sessions do not ask.
	Spent() bool
}

// Spent reports whether an observer has spent its budget.
func (f *Server) Spent() bool {
	for _, o := range f.observers {
		if o.Spent() {
			return true
		}
	}
	return false
}
