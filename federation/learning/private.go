package learning

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/privacy"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// private has the effects of the table [privacy] on the rounds of a run: the messages, work and
// losses of secure aggregation, and the privacy spent.
type private struct {
	config     *privacy.Config
	exchange   privacy.Exchange    // of the open round; before the first, of a usual one
	values     int                 // of a model
	members    []int32             // clients that exchange keys in the open round
	flops      float64             // of the server in the open round
	lost       int                 // rounds whose sum could not be unmasked
	rate       float64             // share of the available clients that the open round asks
	accountant *privacy.Accountant // nil: no guarantee
}

// newPrivate returns the privacy of a run; nil: there is none.
func (s *Setup) newPrivate(asked int) *private {
	if !s.Privacy.On() {
		return nil
	}
	p := &private{config: s.Privacy, exchange: s.Privacy.Exchange(asked), values: s.Shape.Values()}
	if p.config.Differential() && p.config.Noise > 0 {
		p.accountant = privacy.NewAccountant(p.config.Delta, p.config.Accounting)
	}
	return p
}

// secure reports whether sums are aggregated securely.
func (p *private) secure() bool { return p != nil && p.config.Secure() }

// metrics returns the metrics that the table declares.
func (p *private) metrics() (declared []results.NamedMetric) {
	if p != nil && p.accountant != nil {
		declared = append(declared, results.NamedMetric{Name: results.Epsilon, Better: "higher"}) // a target is reached when it is spent
	}
	if p.secure() {
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
	if p.secure() {
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
		for _, t := range asked {
			if f.clients.Available(int(t)) {
				available++
			}
		}
		p.rate = min(1, float64(available)/float64(population))
	}
	if !p.secure() {
		return
	}
	p.members = p.members[:0]
	for _, t := range asked {
		if traits.WaitsForAll || f.clients.Available(int(t)) {
			p.members = append(p.members, t)
		}
	}
	p.exchange = p.config.Exchange(len(p.members))
	f.clients.SetBytesDown(f.open.bytes + f.work.exchangedDown())
}

// unmasks reports whether the server can unmask the sum of the round that closes.
func (f *Federation) unmasks() bool {
	p := f.private
	if !p.secure() {
		return true
	}
	p.flops = 0
	responded, count := make([]bool, len(p.members)), 0
	for i, t := range p.members {
		if responded[i] = f.server.Attempt(int(t)).Responded; responded[i] {
			count++
		}
	}
	pairs, ok := p.exchange.Unmask(responded, rng.New(f.setup.Seed, rng.Privacy, -2, f.server.Rounds()))
	if !ok {
		p.lost++
		f.server.Note(federation.RoundLost, engine.Server, float64(count))
		return false
	}
	p.flops = p.exchange.ServerFLOPs(count, pairs, p.values)
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
		wanted, _ := f.setup.Config.Sizes(f.setup.Clients)
		noise := p.config.Noise * p.config.Clip / p.config.Sensitivity(p.values)
		if p.config.Mechanism == privacy.Distributed { // each response has a share of the noise
			noise *= math.Sqrt(float64(taken) / float64(wanted))
		}
		p.accountant.Add(p.rate, noise)
	}
	return p.flops
}

// ValidatePrivacy reports what of the table [privacy] a method, or other tables, cannot live
// with. The places are those of a scenario's tables.
func ValidatePrivacy(c *config.Checker, p *privacy.Config, f *federation.Config, hubs int, method *algorithms.Description) {
	method.CheckPrivacy(c, p)
	if !p.On() || !method.Messages.Private {
		return
	}
	traits := f.Traits()
	const so = " with [privacy]: "
	c.Require(!traits.Continuous, "federation.protocol", f.Protocol, "must be another"+so+"a private sum is one of a round")
	c.Require(!traits.Weighs, "federation.protocol", f.Protocol, "must be another"+so+"every update counts the same")
	c.Require(!traits.Late, "federation.late", f.Late, "must be \"drop\""+so+"a late update is of another cohort")
	if p.Secure() {
		c.Require(f.PartialShare == 0 || f.Partial != federation.Drop, "federation.partial", f.Partial, "must be \"keep\" with privacy.secure_aggregation: the server cannot leave an update out of the sum")
		c.Require(hubs == 0, "network.hub_size", hubs, "must be 0 with privacy.secure_aggregation: hubs that gather masked values are not modeled")
		c.Require(f.Cost == federation.Physical, "federation.cost", f.Cost, "must be \"physical\" with privacy.secure_aggregation: under others the lengths of transfers do not depend on bytes")
	}
	asksAll := f.Clients == 0 && f.Fraction == 1
	c.Require(!p.Differential() || p.Accounting == privacy.None || asksAll || f.Selection == "uniform", "federation.selection", f.Selection,
		fmt.Sprintf("must be \"uniform\" with privacy.accounting = %q; with %q, epsilon assumes nothing of the selection", p.Accounting, privacy.None))
}
