package experiment

import (
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/theory/twin"
	"fedsim/internal/tools/rng"
	"fedsim/network"
)

// quantity is what runs measure, and its closed form.
type quantity struct {
	name  string
	form  float64 // NaN: there is none
	holds string
	// of returns two values of a round, the quotient of whose means is the quantity.
	of      func(m *measurement, h int) (a, b float64)
	measure func(m *measurement) (value, err float64) // instead of of
	spread  float64                                   // a bound of its variance from round to round; 0: not known
}

// forms has the closed forms of a run. Times are those that its scenario says; nothing is read of the run.
type forms struct {
	s          *scenario.Settings
	about      algorithms.Description
	quantities []quantity
	endurance  float64 // seconds that all batteries last for certain

	asked, wanted int
	down, up      []float64 // by client, mean seconds of messages
	compute       []float64 // likewise, of computing
	laws          []twin.Law
	idle, busy    []float64 // watts, and those that computing adds
	downJ, upJ    []float64 // joules that messages add
	wire          []float64 // bytes of the response on the wire
	latency       []float64 // seconds before its first byte moves
	rate          []float64 // of the uplink, in 10^6 bit/s
	joules        []float64 // of a full battery; 0: there is none
	class         []string
	fails         float64
}

// formsOf returns the closed forms of a run.
func (r *runner) formsOf(run *scenario.RunSpec) (*forms, error) {
	s := &run.Settings
	f := &forms{s: s, endurance: math.Inf(1)}
	p, err := r.prepare.prepare(s)
	if err != nil {
		return nil, err
	}
	f.about = run.Describe(p.shape)
	if key := f.blocked("methods." + run.Method); key != "" {
		f.none("all", key)
		return f, nil
	}
	fed, err := r.timing(run, p)
	if err != nil {
		return nil, err
	}
	c, n := fed.Clients(), p.clients
	fleet, links := c.Fleet(), c.Links()
	f.wanted, f.asked = s.Federation.Sizes(n)
	for k := range n {
		work, bytesDown, bytesUp := fed.Usual(k)
		down, up := c.ExpectedDownlink(k, bytesDown).Seconds(), c.ExpectedUplink(k, bytesUp).Seconds()
		f.down, f.up = append(f.down, down), append(f.up, up)
		f.compute = append(f.compute, c.UsualCompute(k, work).Seconds())
		o := fleet.Overheads(k)
		f.laws = append(f.laws, twin.Law{Shift: down + up, Mean: f.compute[k], CV: o.Spread(),
			Exponential: o.Distribution == devices.Exponential})
		f.idle = append(f.idle, fleet.IdlePower(k))
		f.busy = append(f.busy, fleet.ComputePower(k, false)-f.idle[k])
		radio := func(way network.Direction, length, bytes float64) (joules float64) {
			latent := float64(length * links.LatencyShare(way, k, bytes))
			return float64(links.Radio(k).Active(network.Down, 0)*latent) + float64(links.Power(way, k)*(length-latent))
		}
		f.downJ = append(f.downJ, radio(network.Down, down, bytesDown))
		f.upJ = append(f.upJ, radio(network.Up, up, bytesUp))
		f.wire = append(f.wire, links.OnWire(k, bytesUp))
		f.latency = append(f.latency, up*links.LatencyShare(network.Up, k, bytesUp))
		f.rate = append(f.rate, links.Mbps(network.Up, k))
		f.joules = append(f.joules, 3600*fleet.Profile(k).BatteryWh)
		f.class = append(f.class, c.Class(k))
		if f.joules[k] > 0 {
			most := f.idle[k] + max(f.busy[k], links.Power(network.Up, k), links.Power(network.Down, k))
			b := &s.Devices.BatteryConfig
			start := b.InitialCharge - b.InitialChargeSpread - b.LowBattery
			f.endurance = min(f.endurance, f.joules[k]*start/most)
		}
	}
	arrives := 1 - s.Network.LossProbability
	f.fails = 1 - float64((1-s.Faults.DropProbability.All)*arrives*arrives)
	switch s.Federation.InForce() {
	case protocols.Asynchronous:
		f.asynchronous()
	default:
		f.round()
	}
	return f, nil
}

// blocked returns the first key of the run, of a method with a place, for which no form is known; empty: none is.
func (f *forms) blocked(method string) string {
	s, about := f.s, &f.about
	fed, faults, net := &s.Federation, &s.Faults, &s.Network
	protocol := fed.InForce()
	runtime := net.InForce()
	available := &s.Traces.Availability
	for _, k := range []struct {
		key string
		is  bool
	}{
		{method + ".algorithm", about.Work.Steps == nil || about.Work.Exchange != nil || about.HubRounds > 0 ||
			about.Messages.Differ},
		{method + ".options.stop", about.Needs.Continuous},
		{"federation.protocol", !slices.Contains([]string{protocols.Asynchronous, federation.WaitForAll,
			protocols.Deadline, protocols.First}, protocol)},
		{"federation.cost", fed.Relative()}, {"federation.population", fed.Lazy()},
		{"federation.partial_share", fed.PartialShare > 0},
		{"federation.late", fed.KeepsLate() &&
			(protocol == protocols.Deadline || protocol == protocols.First)},
		{"federation.protocol_options.fit_work", protocol == protocols.Deadline && fed.Fit},
		{"federation.protocol_options.quantile", protocol == protocols.Deadline && fed.Quantile > 0},
		{"federation.protocol_options.answer_timeout_s", fed.AnswerTimeoutS > 0},
		{"federation.selection", fed.Selection != federation.Defaults().Selection},
		{"devices.heat.k_per_w", s.Heated()}, {"network.wire.timeout_s", net.TimesOut()},
		{"devices.model", s.Devices.Model != ""}, {"network.model", net.Model != ""},
		{"traces.files", len(s.Traces.Files) > 0}, {"traces.fading.levels", len(s.Traces.Fading.Levels) > 0},
		{"traces.availability.daily", available.Generated() && available.AtLevel().Daily > 0},
		{"network.hubs.size", net.HubSize > 0}, {"network.radio", net.Radio == network.RadioStates},
		{"network.shared.cell_share", net.SharesAirtime()}, {"network.shared.capacity", net.Capacity != ""},
		{"network.wire.slow_start", net.TCPSlowStart}, {"overhead.runtime", runtime.Adds()},
		{"compression", s.Coding() != nil},
		{"faults.never", len(faults.Never) > 0}, {"faults.outage.share", faults.OutageShare > 0},
		{"faults.drop_probability", len(faults.DropProbability.ByDevice)+len(faults.DropProbability.ByRound) > 0},
		{"devices.battery.when_low", s.Devices.LowBattery > 0},
	} {
		if k.is {
			return k.key
		}
	}
	return ""
}

// add adds a quantity with a form.
func (f *forms) add(name string, form float64, holds string, of func(m *measurement, h int) (a, b float64)) {
	f.quantities = append(f.quantities, quantity{name: name, form: form, holds: holds, of: of})
}

// spread bounds the variance of the last quantity from round to round.
func (f *forms) spread(variance float64) { f.quantities[len(f.quantities)-1].spread = variance }

// none adds a quantity without a form, because of a key.
func (f *forms) none(name, key string) {
	f.quantities = append(f.quantities, quantity{name: name, form: math.NaN(), holds: NoForm + key})
}

// The values of rounds that quantities are made of.
func secondsOf(m *measurement, h int) float64  { return m.seconds(h) }
func updatesOf(m *measurement, h int) float64  { return float64(m.rounds[h].Participants) }
func attemptsOf(m *measurement, h int) float64 { return m.tally.rounds[h-1].attempts }
func joulesOf(m *measurement, h int) float64   { return m.rounds[h].EnergyJ }
func one(*measurement, int) float64            { return 1 }

// per returns the quotient of two values.
func per(a, b func(m *measurement, h int) float64) func(m *measurement, h int) (float64, float64) {
	return func(m *measurement, h int) (float64, float64) { return a(m, h), b(m, h) }
}

func ageOf(m *measurement, h int) float64 {
	if r := &m.rounds[h]; r.Participants > 0 {
		return r.Staleness * float64(r.Participants)
	}
	return 0
}

// tau returns the mean response times.
func (f *forms) tau() (tau []float64) {
	for _, l := range f.laws {
		tau = append(tau, l.Expected())
	}
	return tau
}

// served returns the mean seconds of the server on a response, and whether it takes any.
func (f *forms) served() (seconds float64, any bool) {
	w, speed := f.about.Work.Server, f.s.Federation.ServerGFLOPS*1e9
	if speed == 0 || w == nil || w.Every == 0 {
		return 0, speed > 0
	}
	return (w.Response + w.Step/float64(w.Every)) / speed, true
}

// steady reports whether messages always take as long, so that the laws of responses are known.
func (f *forms) steady() bool { return f.s.Network.Jitter == 0 }

// asynchronous adds the forms of a server without rounds.
func (f *forms) asynchronous() {
	s := f.s
	n, m, tau := len(f.laws), f.wanted, f.tau()
	sigma, serves := f.served()
	probability, queues := protocols.Routing(s.Federation.ProtocolOptions, n)
	shared, capacity := s.Network.SharesLinks(), f.uploads()
	took := 1 - f.fails
	switch {
	case s.Traces.Availability.Generated():
		f.none("updates per second", "traces.availability.mean_up_s")
		return
	case shared && (capacity == 0 || f.fails > 0 || serves || queues):
		f.none("updates per second", "network.shared")
		return
	case serves && f.fails > 0:
		f.none("updates per second", "faults.drop_probability")
		return
	case shared:
		f.sharedUploads(m, capacity)
		return
	case serves && !queues:
		rate, _ := twin.Station(tau, m, sigma)
		f.add("updates per second", rate, Approximate+"fixed server time", per(updatesOf, secondsOf))
		f.none("staleness in updates", "federation.server_gflops")
		f.none("joules an update", "federation.server_gflops")
		return
	}
	holds, form := f.responding(tau, m)
	if queues {
		if holds = f.exponential(); serves {
			holds = Approximate + "fixed server time"
		}
		q := twin.NewQueue(tau, probability, nil, m, sigma)
		form = twin.Asynchronous{Rate: q.Rate, Staleness: q.Staleness, Each: make([]float64, n), Exact: true}
		for i, p := range probability {
			form.Each[i] = p * q.Rate
		}
	}
	f.add("updates per second", took*form.Rate, holds, per(updatesOf, secondsOf))
	if !serves {
		f.add("staleness in updates", took*float64(m-1), Exact, per(ageOf, updatesOf))
	}
	if f.fails > 0 {
		f.add("messages an update", 1/took, Exact, per(attemptsOf, updatesOf))
		f.none("joules an update", "faults.drop_probability")
	} else {
		watts := 0.0
		for i, l := range form.Each {
			watts += f.idle[i] + float64(l*(float64(f.busy[i]*f.compute[i])+f.downJ[i]+f.upJ[i]))
		}
		f.add("joules an update", watts/form.Rate, holds, per(joulesOf, updatesOf))
	}
	f.byClass(form, tau, holds)
}

// sharedUploads adds the forms of m clients at work whose uploads share a link of a capacity in 10^6 bit/s.
func (f *forms) sharedUploads(m int, capacity float64) {
	before := make([]float64, len(f.laws)) // the seconds before an upload
	for i := range before {
		before[i] = f.down[i] + f.compute[i] + f.latency[i]
	}
	rate, there := twin.Station(before, m, f.wire[0]*8/1e6/capacity)
	f.add("updates per second", rate, Exact, per(updatesOf, secondsOf))
	f.add("staleness in updates", float64(m-1), Exact, per(ageOf, updatesOf))
	f.add("uploads under way", there, Exact,
		per(func(m *measurement, h int) float64 { return m.tally.rounds[h-1].uplinkS }, secondsOf))
	f.none("joules an update", "network.shared")
}

// responding returns the form of m clients at work whose responses do not wait for each other.
func (f *forms) responding(tau []float64, m int) (holds string, form twin.Asynchronous) {
	form = twin.NewAsynchronous(tau, m)
	switch {
	case !form.Exact:
		return Asymptotic, form
	case f.ratios(tau):
		return Approximate + "fixed times in whole ratios", form
	default:
		return Exact, form
	}
}

// byClass adds the means over the clients of each class of a server without rounds.
func (f *forms) byClass(form twin.Asynchronous, tau []float64, holds string) {
	names := slices.Clone(f.class)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 2 || f.fails > 0 {
		return
	}
	order := []string{} // that of the fleet
	for _, c := range f.s.Fleet.Fleet().Classes {
		if slices.Contains(names, c.Name) {
			order = append(order, c.Name)
		}
	}
	for _, name := range order {
		n, rate, age, busy, at := 0.0, 0.0, 0.0, 0.0, 0
		for at = range f.s.Fleet.Fleet().Classes {
			if f.s.Fleet.Fleet().Classes[at].Name == name {
				break
			}
		}
		for i, l := range form.Each {
			if f.class[i] == name {
				n++
				rate += l
				age += float64(l * form.Staleness[i])
				busy += float64(l * tau[i])
			}
		}
		of := func(m *measurement, h int) *talliedClass { return &m.tally.rounds[h-1].of[at] }
		f.add(name+": updates per second", rate/n, holds, func(m *measurement, h int) (float64, float64) {
			return of(m, h).updates, n * m.seconds(h)
		})
		f.add(name+": staleness", age/rate, holds, func(m *measurement, h int) (float64, float64) {
			return of(m, h).age, of(m, h).updates
		})
		f.add(name+": share at work", busy/n, holds, func(m *measurement, h int) (float64, float64) {
			return of(m, h).busyS, n * m.seconds(h)
		})
	}
}

// uploads returns the capacity in 10^6 bit/s of the one link that uploads of the same size share, and that is slower
// than each of their own links; 0: links are shared in another way.
func (f *forms) uploads() (capacity float64) {
	shared := &f.s.Network.SharedConfig
	switch {
	case shared.ServerDownMbps > 0 || shared.CellDownMbps > 0 || shared.RushShare < 1 ||
		f.s.Network.BurstBytes > 0 || f.s.Network.Jitter > 0:
		return 0
	case shared.Cells == 1 && shared.ServerUpMbps == 0:
		capacity = shared.CellUpMbps
	case shared.Cells == 0:
		capacity = shared.ServerUpMbps
	}
	if slices.Min(f.wire) != slices.Max(f.wire) || slices.Min(f.rate) < capacity {
		return 0
	}
	return capacity
}

// exponential returns how forms of exponential response times hold.
func (f *forms) exponential() string {
	const short = 1e-4
	for _, l := range f.laws {
		if !l.Exponential || l.Shift > short*l.Mean {
			return Approximate + "times that are not exponential"
		}
	}
	return Exact
}

// ratios reports whether all times are fixed and are small whole multiples of one, so that clients respond at once.
func (f *forms) ratios(tau []float64) bool {
	if !f.steady() || slices.ContainsFunc(f.laws, func(l twin.Law) bool { return !l.Fixed() }) {
		return false
	}
	distinct := slices.Clone(tau)
	slices.Sort(distinct)
	for _, t := range slices.Compact(distinct)[1:] {
		for q := 1.0; q <= 20; q++ {
			p := float64(t / distinct[0] * q)
			if p <= 20*q && math.Abs(p-math.Round(p)) <= 1e-6*p && math.Round(p) != q {
				return true
			}
		}
	}
	return false
}

// round adds the forms of a server with rounds.
func (f *forms) round() {
	s := f.s
	fed, net := &s.Federation, &s.Network
	traits := fed.Traits()
	deadline := twin.Unbounded
	if fed.DeadlineS > 0 && !traits.WaitsForAll {
		deadline = fed.DeadlineS
	}
	r := twin.Round{Laws: f.laws, Asked: f.asked, Needed: f.wanted, Fails: f.fails, Deadline: deadline}
	unmask, known := f.unmask()
	if !traits.WaitsForAll {
		r.Least = max(fed.MinReports, unmask)
	}
	server := f.s.Federation.ServerGFLOPS > 0
	switch {
	case net.SharesLinks():
		f.none("seconds a round", "network.shared")
		return
	case !f.steady():
		f.none("seconds a round", "network.jitter")
		return
	case traits.Asks:
		f.none("seconds a round", "federation.protocol")
		return
	case !known:
		f.none("seconds a round", "privacy.secure_aggregation")
		return
	case f.fails > 0 && !traits.WaitsForAll && fed.Retries > 0:
		f.none("seconds a round", "federation.protocol_options.retries")
		return
	case server && (f.about.Work.Server == nil || f.about.Work.Server.Every != 0):
		f.none("seconds a round", "federation.server_gflops")
		return
	case s.Traces.Availability.Generated():
		f.available(&r)
		return
	case deadline < twin.Unbounded && fed.InForce() == protocols.Deadline && f.depletes():
		f.deplete(deadline)
		return
	}
	holds := Exact
	if !r.Exact() {
		holds = Asymptotic
	}
	if traits.WaitsForAll && f.fails > 0 {
		took := 1 - f.fails
		f.add("messages a round", float64(f.asked)/took, Exact, per(attemptsOf, one))
		if f.exponential() != Exact {
			f.none("seconds a round", "faults.drop_probability")
			return
		}
		r.Laws, r.Fails = slices.Clone(r.Laws), 0 // a geometric sum of exponential times is one
		for i := range r.Laws {
			r.Laws[i].Mean /= took
		}
	}
	f.lasting(&r, holds, server)
}

// lasting adds what is known of rounds whose length is known.
func (f *forms) lasting(r *twin.Round, holds string, server bool) {
	fed := &f.s.Federation
	const fewest = 1e-12 // what is below comes of rounding
	participants := r.Participants()
	if participants < fewest {
		participants = 0
	}
	seconds := r.Deadline
	if fed.InForce() != protocols.Deadline {
		seconds = r.Seconds()
	}
	if server {
		w, speed := f.about.Work.Server, fed.ServerGFLOPS*1e9
		least := *r
		least.Least = max(1, r.Least)
		seconds += (float64(w.Response*participants) + float64(w.Step*(1-least.Void()))) / speed
	}
	f.add("seconds a round", seconds, holds, per(secondsOf, one))
	f.add("updates per second", participants/seconds, holds, per(updatesOf, secondsOf))
	if !fed.Traits().WaitsForAll {
		f.add("participants a round", participants, holds, per(updatesOf, one))
		p := participants / float64(f.asked)
		f.spread(float64(f.asked) * p * (1 - p))
	}
	if r.Least > 0 {
		void := r.Void()
		f.add("void rounds", void, holds, func(m *measurement, h int) (float64, float64) {
			if m.rounds[h].Participants == 0 {
				return 1, 1
			}
			return 0, 1
		})
		f.spread(void * (1 - void))
	}
	switch {
	case fed.InForce() == protocols.First:
		f.none("joules an update", "federation.protocol")
	case f.fails > 0:
		f.none("joules an update", "faults.drop_probability")
	default:
		joules := 0.0
		for i := range f.laws {
			share := float64(f.asked) / float64(len(f.laws))
			joules += float64(f.idle[i]*seconds) + float64(share*f.attempt(i, r.Deadline))
		}
		f.add("joules a round", joules, holds, per(joulesOf, one))
		f.add("joules an update", joules/participants, holds, per(joulesOf, updatesOf))
	}
}

// attempt returns the joules that an attempt of a client adds to idling until a deadline.
func (f *forms) attempt(i int, deadline float64) float64 {
	if math.IsInf(deadline, 1) {
		return float64(f.busy[i]*f.compute[i]) + f.downJ[i] + f.upJ[i]
	}
	computed := f.laws[i]
	computed.Shift = f.down[i]
	computing := computed.Within(deadline)
	joules := f.downJ[i] + float64(f.busy[i]*(computing-f.down[i]))
	if f.up[i] > 0 {
		joules += f.upJ[i] * (f.laws[i].Within(deadline) - computing) / f.up[i]
	}
	return joules
}

// unmask returns the fewest responses of which a sum can be unmasked; ok is false if it depends on whose they are.
func (f *forms) unmask() (least int, ok bool) {
	p := f.s.Privacy()
	if p == nil || p.Masking(f.asked) == nil {
		return 0, true
	}
	masking := p.Masking(f.asked)
	responded := make([]bool, f.asked)
	for least = range f.asked + 1 {
		can := 0
		const draws = 16
		for k := range draws {
			s := rng.New(uint64(k), rng.Privacy, -2, least)
			order := make([]int32, f.asked)
			for i := range order {
				order[i], responded[i] = int32(i), false
			}
			s.Shuffle(order)
			for _, i := range order[:least] {
				responded[i] = true
			}
			if _, ok := masking.Unmask(responded, s); ok {
				can++
			}
		}
		if can > 0 {
			return least, can == draws
		}
	}
	return f.asked + 1, true
}

// depletes reports whether no battery lasts and none is charged, so that its form is the one to compare.
func (f *forms) depletes() bool {
	d := &f.s.Devices
	return slices.Min(f.joules) > 0 && d.Charging == devices.Never && d.InitialChargeSpread == 0 && f.fails == 0 &&
		f.asked == len(f.laws)
}

// deplete adds the form of the round in which a battery is empty, under a deadline.
func (f *forms) deplete(deadline float64) {
	mean, n := 0.0, float64(len(f.laws))
	for i := range f.laws {
		computed := f.laws[i]
		computed.Shift = f.down[i]
		within := computed.Within(deadline)
		variance := float64(f.busy[i]*f.busy[i]) * (computed.Square(deadline) - float64(within*within))
		spent := float64(f.idle[i]*deadline) + f.attempt(i, deadline)
		mean += twin.Depletion(f.joules[i]*f.s.Devices.InitialCharge, spent, variance) / n
	}
	f.quantities = append(f.quantities,
		quantity{name: "round of depletion", form: mean, holds: Asymptotic, measure: depletion})
	f.none("others", "devices.battery.wh")
}

// available adds the forms of clients that are on and off.
func (f *forms) available(r *twin.Round) {
	a, n, fed := f.s.Traces.Availability.AtLevel(), len(f.laws), &f.s.Federation
	on := twin.OnOff{Up: a.MeanUpS, Down: a.MeanDownS}
	holds := Exact
	const times = 5 // after so many relaxation times little is left of what was
	if r.Deadline < times*on.Relaxation() {
		holds = Approximate + "rounds that are short against times on and off"
	}
	switch {
	case fed.InForce() == federation.WaitForAll && n == 1 && f.laws[0].Fixed() && f.fails == 0:
		f.add("seconds a round", on.Alone(f.laws[0].Expected(), f.s.Faults.OnReturn == devices.Resume), Exact,
			per(secondsOf, one))
	case fed.InForce() != protocols.Deadline:
		f.none("seconds a round", "traces.availability.mean_up_s")
	case fed.MinAvailable > 1:
		f.add("wait for a round in s", on.Wait(n, fed.MinAvailable), holds,
			func(m *measurement, h int) (float64, float64) { return m.seconds(h) - r.Deadline, 1 })
		f.none("participants a round", "federation.min_available")
	default:
		f.add("clients available", float64(n)*on.Share(), holds,
			per(func(m *measurement, h int) float64 { return float64(m.rounds[h].Available) }, one))
		switch {
		case f.asked < n:
			f.none("participants a round", "federation.clients_per_round")
		case f.s.Faults.OnReturn != devices.Discard:
			f.none("participants a round", "faults.on_return")
		case r.Least > 0:
			f.none("participants a round", "federation.min_reports")
		default:
			participants := 0.0
			for _, l := range f.laws {
				participants += float64((1 - f.fails) * on.Share() * on.Completed(l, r.Deadline))
			}
			f.add("participants a round", participants, holds, per(updatesOf, one))
		}
	}
}
