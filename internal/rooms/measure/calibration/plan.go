package calibration

import (
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// plan says which models are fitted to a table. Resamples have the plan of the whole log.
type plan struct {
	*table
	shared []*unit   // by class with computations: one unit for all its clients
	units  []*unit   // those of clients: shared ones or own ones
	joint  *links    // of the directions with nominal rates; of both if there are none; nil: no transfers
	each   [2]*links // by direction; nil: no transfers

	clientGrid     *model // nil: there is none
	serverGrid     *model
	rests          []series    // by client: time of an attempt beyond its parts
	launchPoll     *launchPoll // nil: there is none
	waits          model       // of launches, without polls
	noWait         bool        // all waits are 0
	first, further series      // waits of first and of further attempts of clients
	gaps           series
	hasFirst       bool
}

// series are values, each of a round.
type series struct {
	values []float64
	rounds []int
}

func (s *series) add(x float64, round int) {
	if !math.IsNaN(x) {
		s.values = append(s.values, x)
		s.rounds = append(s.rounds, round)
	}
}

// median returns the median of the values, which count as often as their rounds; NaN: there are none.
func (s *series) median(count []float64) float64 {
	var values []float64
	for i, x := range s.values {
		for range int(weightOf(count, s.rounds[i])) {
			values = append(values, x)
		}
	}
	return orderstat.Median(values)
}

// newPlan chooses the models.
func newPlan(t *table) *plan {
	p := &plan{table: t, rests: make([]series, len(t.clients))}
	for class := range t.classes {
		shared, own, ok := t.classUnits(class)
		if !ok {
			continue
		}
		p.shared = append(p.shared, shared)
		if own == nil {
			own = []*unit{shared}
		}
		p.units = append(p.units, own...)
	}
	p.planPolls()
	p.planLinks()
	p.planWaits()
	p.planGaps()
	for i := range t.rows {
		r := &t.rows[i]
		p.rests[r.client].add(r.Seen-r.Sent-r.Receive-r.Wait-r.Compute-directions[1].seconds(r.Attempt), r.round)
	}
	return p
}

// planLinks chooses the directions that share a wire factor and a burst.
func (p *plan) planLinks() {
	var nominal []int
	for k := range directions {
		if p.each[k] = p.newLinks(k); p.each[k] != nil && p.each[k].nominal {
			nominal = append(nominal, k)
		}
	}
	if len(nominal) == 0 {
		nominal = []int{0, 1}
	}
	if p.joint = p.newLinks(nominal...); p.joint != nil {
		p.joint.checkNominal()
	}
}

// planPolls finds the grids of polls.
func (p *plan) planPolls() {
	p.clientGrid, p.serverGrid = gridModel(p.clientInstants()), gridModel(p.serverInstants())
	p.polled = p.clientGrid != nil || p.serverGrid != nil
	p.setOrigins()
}

// leastWait is the shortest median wait that a launch explains, in seconds.
const leastWait = 1e-3

// planWaits prepares the model of launches: seconds = launch + launch_gflop / GFLOP/s of the client, and a poll.
func (p *plan) planWaits() {
	p.launchPoll = p.findLaunchPoll()
	speed := make([]float64, len(p.clients))
	for _, u := range p.units {
		f := u.model.fit(nil)
		for i, c := range u.clients {
			speed[c] = f.b[flopTerm] * f.s[i] * 1e9 // s/GFLOP
		}
	}
	var all []float64
	clients := map[int]int{}
	for i := range p.rows {
		r := &p.rows[i]
		clients[r.client]++
		if math.IsNaN(r.Wait) {
			continue
		}
		all = append(all, r.Wait)
		if r.first {
			p.first.add(r.Wait, r.round)
		} else {
			p.further.add(r.Wait, r.round)
		}
		launch := r.Wait
		if p.launchPoll != nil {
			launch -= p.launchPoll.waits[i]
		}
		if launch > 0 && (!r.first || len(p.runs) == len(p.rounds)) {
			p.waits.samples = append(p.waits.samples,
				sample{y: launch, round: r.round, x: []float64{1, speed[r.client]}})
		}
	}
	p.noWait = len(all) > 0 && len(p.waits.samples) == 0
	if len(p.waits.samples) == 0 {
		return
	}
	p.waits.clients = 1
	order := []int{0, 1}
	if orderstat.Median(all) < leastWait ||
		slices.ContainsFunc(p.waits.samples, func(v sample) bool { return !(v.x[1] > 0) }) {
		order = order[:1]
	}
	p.waits.terms = identify(p.waits.samples, 1, order)
	p.hasFirst = len(p.further.values) > 0 && orderstat.Median(all) >= leastWait
}

// planGaps finds the times from the end of a round to the next one.
func (p *plan) planGaps() {
	starts, ends := make([]float64, len(p.rounds)), make([]float64, len(p.rounds))
	for i := range p.rounds {
		starts[i], ends[i] = math.Inf(1), math.Inf(-1)
	}
	for i := range p.rows {
		r := &p.rows[i]
		starts[r.round] = min(starts[r.round], r.Sent)
		if r.Outcome == attemptlog.Taken {
			ends[r.round] = max(ends[r.round], r.Seen)
		}
	}
	for i := 1; i < len(p.rounds); i++ {
		run := p.rounds[i].run
		protocol, _ := p.runs[run].Setting("federation.protocol").(string)
		if p.rounds[i-1].run != run || p.rounds[i-1].round+1 != p.rounds[i].round || protocol == "deadline" ||
			protocol == "asynchronous" {
			continue
		}
		if gap := starts[i] - ends[i-1]; gap >= 0 && !math.IsInf(gap, 0) {
			p.gaps.add(gap, i-1)
		}
	}
}
