package learning

import (
	"math"

	"fedsim/algorithms"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// private has the effects of the protection of updates on the rounds of a run: the messages, work and
// losses of masking, and the privacy spent.
type private struct {
	algorithms.Privacy
	masking    algorithms.Masking    // of the open round, before the first of a usual one; nil: there is none
	values     int                   // of an update
	members    []int32               // clients that exchange keys in the open round
	flops      float64               // of the server in the open round
	lost       int                   // rounds whose sum could not be unmasked
	rate       float64               // share of the available clients that the open round asks
	accountant algorithms.Accountant // nil: no guarantee
}

// newPrivate returns the privacy of a run whose updates have so many values; nil: there is none.
func (s *Setup) newPrivate(asked, values int) *private {
	if s.Privacy == nil {
		return nil
	}
	wanted, _ := s.Config.Sizes(s.Clients)
	return &private{Privacy: s.Privacy, masking: s.Privacy.Masking(asked), values: values,
		accountant: s.Privacy.NewAccountant(values, wanted)}
}

// masks reports whether the server sees sums of updates alone.
func (p *private) masks() bool { return p != nil && p.masking != nil }

// metrics returns the metrics that the run has.
func (p *private) metrics() (declared []results.NamedMetric) {
	if p != nil && p.accountant != nil {
		// a target is reached when it is spent
		declared = append(declared, results.NamedMetric{Name: results.Epsilon, Better: "higher"})
	}
	if p.masks() {
		declared = append(declared, results.NamedMetric{Name: results.LostRounds, Better: "lower"})
	}
	return declared
}

// measured returns the values of metrics. An infinite epsilon is not known.
func (p *private) measured() (values []algorithms.NamedValue) {
	if p != nil && p.accountant != nil {
		if epsilon := p.accountant.Epsilon(); !math.IsInf(epsilon, 1) {
			values = append(values, algorithms.NamedValue{Name: results.Epsilon, Value: epsilon})
		}
	}
	if p.masks() {
		values = append(values, algorithms.NamedValue{Name: results.LostRounds, Value: float64(p.lost)})
	}
	return values
}

// openPrivate begins the accounts of a round that asks its clients.
func (f *Federation) openPrivate(asked []int32) {
	p := f.private
	if p == nil {
		return
	}
	n, traits := f.setup.Clients, f.setup.Config.Traits()
	p.rate = 1
	_, size := f.setup.Config.Sizes(n)
	if population := n - f.clients.Unavailable(); size < n && population > 0 {
		available := 0
		for _, client := range asked {
			if f.clients.Available(int(client)) {
				available++
			}
		}
		p.rate = min(1, float64(available)/float64(population))
	}
	if !p.masks() {
		return
	}
	p.members = p.members[:0]
	for _, client := range asked {
		if traits.WaitsForAll || f.clients.Available(int(client)) {
			p.members = append(p.members, client)
		}
	}
	p.masking = p.Masking(len(p.members))
	f.clients.SetBytesDown(f.open.bytes + f.work.exchangedDown())
}

// unmasks reports whether the server can unmask the sum of the round that closes.
func (f *Federation) unmasks() bool {
	p := f.private
	if !p.masks() {
		return true
	}
	p.flops = 0
	responded, count := make([]bool, len(p.members)), 0
	for i, client := range p.members {
		if responded[i] = f.server.Attempt(int(client)).Responded; responded[i] {
			count++
		}
	}
	pairs, ok := p.masking.Unmask(responded, rng.New(f.setup.Seed, rng.Privacy, -2, f.server.Rounds()))
	if !ok {
		p.lost++
		f.server.Note(federation.RoundLost, engine.Server, float64(count))
		return false
	}
	p.flops = p.masking.ServerFLOPs(count, pairs, p.values)
	return true
}

// closePrivate accounts for the release of a round of which the server has taken some updates,
// and returns the work of the server.
func (f *Federation) closePrivate() (flops float64) {
	p := f.private
	taken := f.server.Accounts().Taken()
	if p == nil || taken == 0 {
		return 0
	}
	if p.accountant != nil {
		p.accountant.Add(p.rate, taken)
	}
	return p.flops
}
