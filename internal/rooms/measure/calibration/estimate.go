package calibration

import (
	"math"
	"slices"

	"fedsim/internal/tools/formats"
)

// calibrate estimates everything with a weight of each round; nil: 1. It takes no text and no
// proportion, which describe adds.
func (p *plan) calibrate(count []float64) *Calibration {
	c := &Calibration{Format: formats.Calibration, RowsAsFLOPs: p.counted}
	for _, r := range p.runs {
		c.Runs = append(c.Runs, Run{Name: r.Name})
	}
	for _, k := range p.clients {
		c.Clients = append(c.Clients, Client{Name: k.name, Class: p.classes[k.class]})
	}
	for _, name := range p.classes {
		c.Classes = append(c.Classes, Class{Name: name})
	}
	p.setComputations(c, count)
	p.setLinks(c, count)
	p.setWaits(c, count)
	return c
}

// constants returns the constants of a unit with a factor.
func (u *unit) constants(f *fitted, factor float64) (k Constants) {
	value := func(term int, unit string) Value {
		if u.why[term] != "" {
			return unknown(unit, u.why[term])
		}
		return known(factor*f.b[term], unit, "the client has too few attempts")
	}
	k.TaskOverheadS = value(taskTerm, "s")
	k.StepOverheadS = value(stepTerm, "s")
	k.TrafficSPerGB = value(trafficTerm, "s/GB")
	k.GFLOPS = value(flopTerm, "10^9 FLOP/s")
	if k.GFLOPS.Known() {
		k.GFLOPS = known(1e-9/k.GFLOPS.Value, k.GFLOPS.Unit, "FLOPs explain no time: steps and overheads do")
	}
	return k
}

// setComputations sets the constants of classes and clients, and the jitter.
func (p *plan) setComputations(c *Calibration, count []float64) {
	const none = "column compute_s is empty"
	nothing := Constants{unknown("s", none), unknown("s", none), unknown("s/GB", none), unknown("10^9 FLOP/s", none)}
	for i := range c.Clients {
		c.Clients[i].Constants, c.Clients[i].Time = nothing, unknown("", none)
	}
	for i := range c.Classes {
		c.Classes[i].Constants, c.Classes[i].Spread = nothing, unknown("", none)
	}
	fits := map[*unit]fitted{}
	for _, u := range p.shared {
		f := u.model.fit(count)
		fits[u] = f
		k := &c.Classes[u.class]
		k.Constants, k.Spread = u.constants(&f, 1), spread(f.s)
	}
	var errors []residual
	for _, u := range p.units {
		f, ok := fits[u]
		if !ok {
			f = u.model.fit(count)
		}
		for j, at := range u.clients {
			k := &c.Clients[at]
			k.Constants = u.constants(&f, f.s[j])
			k.Time = known(f.s[j], "", "the client has too few attempts")
			if len(p.units) != len(p.shared) && len(u.clients) == 1 {
				k.Time = unknown("", "the client has its own constants")
			}
		}
		for j := range u.model.samples {
			v := &u.model.samples[j]
			if n := weightOf(count, v.round); n > 0 {
				e := math.Log(v.y / f.predict(v))
				errors = append(errors, residual{e, n, u.clients[v.client], v.round})
			}
		}
	}
	p.setJitter(c, errors)
}

func weightOf(count []float64, round int) float64 {
	if count == nil {
		return 1
	}
	return count[round]
}

// setLinks sets what links share, and the rates of clients.
func (p *plan) setLinks(c *Calibration, count []float64) {
	n := &c.Network
	n.WireFactor, n.BurstBytes = unknown("", emptyTransfers[0]), unknown("B", emptyTransfers[0])
	wire := 1.0
	if p.joint != nil {
		f := p.joint.fit(p.table, count)
		n.WireFactor, n.BurstBytes = p.joint.values(&f)
		wire = n.WireFactor.Or(1)
		p.joint.rates(c, &f, wire)
	}
	shared := [2][2]*Value{{&n.DownWireFactor, &n.DownBurstBytes}, {&n.UpWireFactor, &n.UpBurstBytes}}
	for k, v := range shared {
		*v[0], *v[1] = unknown("", emptyTransfers[k]), unknown("B", emptyTransfers[k])
		if l := p.each[k]; l != nil {
			f := l.fit(p.table, count)
			*v[0], *v[1] = l.values(&f)
			if !slices.Contains(p.joint.directions, k) {
				l.rates(c, &f, wire)
			}
		}
	}
	for i := range c.Clients {
		k := &c.Clients[i]
		for d, v := range []*Value{&k.DownMbps, &k.UpMbps} {
			if v.Unit == "" {
				*v = unknown("10^6 bit/s", emptyTransfers[d])
			}
		}
	}
	p.setRoundTrips(c, count)
}

// setRoundTrips sets the round trips of clients: what attempts take beyond their parts, or transfers that contain a
// latency beyond their bytes.
func (p *plan) setRoundTrips(c *Calibration, count []float64) {
	rests, why := p.rests, "the times of the parts of attempts are not complete"
	switch {
	case p.byDevice:
		rests, why = p.latencies(c), "transfers in rows by device contain it: rates have it, with one size of message"
	case p.polled:
		rests, why = p.latencies(c),
			"it is part of the waiting for polls; rates have that of transfers, with one size of message"
	}
	for i := range c.Clients {
		c.Clients[i].RTTms = unknown("ms", why)
		if rests != nil {
			c.Clients[i].RTTms = known(1000*max(0, rests[i].median(count)), "ms", why)
		}
	}
}

// emptyTransfers says by direction why there are no transfers.
var emptyTransfers = [2]string{
	"receive_s is empty or below 0.1 ms",
	"reply_first_s and reply_s are empty, or the transfers take less than 0.1 ms",
}

func (l *links) values(f *fitted) (wire, burst Value) {
	wire = known(f.b[wireTerm], "", "there are too few transfers")
	factor := 1.0
	if l.why[wireTerm] != "" {
		wire, factor = unknown("", l.why[wireTerm]), f.b[wireTerm]
	}
	burst = known(f.b[burstTerm]/factor, "B", "there are too few transfers")
	if l.why[burstTerm] != "" {
		burst = unknown("B", l.why[burstTerm])
	}
	return wire, burst
}

// rates sets the rates of clients that belong to a wire factor.
func (l *links) rates(c *Calibration, f *fitted, wire float64) {
	for i, at := range l.clients {
		v := known(l.nominals[i]*wire/(f.b[wireTerm]*f.s[i]), "10^6 bit/s", "the client has too few attempts")
		if l.of[i] == 0 {
			c.Clients[at].DownMbps = v
		} else {
			c.Clients[at].UpMbps = v
		}
	}
}

// setWaits sets launches, polls and gaps.
func (p *plan) setWaits(c *Calibration, count []float64) {
	w := &c.Waiting
	grid := func(m *model, period, lag *Value, why string) {
		*period, *lag = unknown("s", why), unknown("s", why)
		if m != nil {
			f := m.fit(count)
			*period, *lag = known(f.b[0], "s", "there are too few waits"), known(f.b[1], "s", "there are too few waits")
			if !slices.Contains(m.terms, 1) {
				*lag = unknown("s", "all waits are of one number of periods")
			}
		}
	}
	grid(p.clientGrid, &w.ClientPollS, &w.ClientLagS, "idle_s is empty or has no grid")
	grid(p.serverGrid, &w.ServerPollS, &w.ServerLagS, "seen_s has no grid")
	const noWait = "column wait_s is empty"
	w.LaunchPollS = unknown("s",
		"idle_s to reply_s are not complete, or starts of training have no grid: launch_s has it")
	if p.launchPoll != nil {
		w.LaunchPollS = known(p.launchPoll.estimate(count), "s", "there are too few launches")
	}
	w.LaunchS, w.LaunchGFLOP, w.ColdStartS = unknown("s", noWait), unknown("GFLOP", noWait), unknown("s", noWait)
	if p.noWait {
		w.LaunchS, w.LaunchGFLOP, w.ColdStartS = known(0, "s", ""), known(0, "GFLOP", ""), known(0, "s", "")
	}
	if len(p.waits.samples) > 0 {
		f := p.waits.fit(count)
		w.LaunchS = known(f.b[0], "s", "there are too few waits")
		w.LaunchGFLOP = unknown("GFLOP", "the clients have one speed, or launches take less than 1 ms")
		if slices.Contains(p.waits.terms, 1) {
			w.LaunchGFLOP = known(f.b[1], "GFLOP", "there are too few waits")
		}
		w.ColdStartS = unknown("s", "launches take less than 1 ms, or no client has two attempts in a run")
		if p.hasFirst {
			w.ColdStartS = known(max(0, p.first.median(count)-p.further.median(count)), "s",
				"there are too few first attempts")
		}
	}
	w.RoundGapS = known(p.gaps.median(count), "s", "no two rounds follow each other")
}
