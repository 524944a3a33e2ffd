package calibration

import (
	"fmt"
	"math"
	"slices"

	"fedsim/internal/attemptlog"
	"fedsim/internal/orderstat"
)

// describe adds what has no interval by bootstrap: numbers of rows, nominal values, rates of
// failures, what is not identified, and notes.
func (p *plan) describe(c *Calibration) {
	for i := range c.Classes {
		c.Classes[i].Own = slices.ContainsFunc(p.units, func(u *unit) bool { return u.class == i && len(u.clients) == 1 && c.Classes[i].manyOf(p) })
	}
	p.countAttempts(c)
	p.setNominals(c)
	p.setFaults(c)
	p.listMissing(c)
	if p.counted {
		c.Notes = append(c.Notes, "The log has no FLOPs: a row of an epoch counts as one FLOP, so that rates are rows a second.")
	}
	for r := range p.runs {
		for k := range directions {
			if p.sharesLink(r, &directions[k]) {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: its transfers %s share a link and are not fitted.", p.runs[r].Name, directions[k].name))
			}
		}
	}
	c.Notes = append(c.Notes, p.oneKind()...)
}

// manyOf reports whether the class has several clients with computations.
func (k *Class) manyOf(p *plan) bool {
	for i := range p.shared {
		if u := p.shared[i]; p.classes[u.class] == k.Name {
			return len(u.clients) > 1
		}
	}
	return false
}

// countAttempts counts rows.
func (p *plan) countAttempts(c *Calibration) {
	for i := range p.rounds {
		c.Runs[p.rounds[i].run].Rounds++
	}
	seen := map[[2]int]bool{}
	for i := range p.rows {
		r := &p.rows[i]
		c.Runs[r.run].Attempts++
		c.Clients[r.client].Attempts++
		if k := [2]int{r.run, r.client}; !seen[k] {
			seen[k] = true
			c.Runs[r.run].Clients++
		}
	}
	for i := range p.clients {
		c.Classes[p.clients[i].class].Clients++
	}
}

// setNominals sets the medians of nominal values.
func (p *plan) setNominals(c *Calibration) {
	values := make([][3][]float64, len(p.clients))
	for i := range p.rows {
		r := &p.rows[i]
		for k, x := range []float64{r.DownMbps, r.UpMbps, r.GFLOPS} {
			if x > 0 {
				values[r.client][k] = append(values[r.client][k], x)
			}
		}
	}
	logs := make([][]float64, len(p.classes))
	for i := range c.Clients {
		k := &c.Clients[i]
		k.NominalDownMbps, k.NominalUpMbps, k.NominalGFLOPS = orZero(orderstat.Median(values[i][0])), orZero(orderstat.Median(values[i][1])), orZero(orderstat.Median(values[i][2]))
		if k.NominalGFLOPS > 0 {
			class := p.clients[i].class
			logs[class] = append(logs[class], math.Log(k.NominalGFLOPS))
		}
	}
	for i := range c.Classes {
		if len(logs[i]) > 0 {
			sum := 0.0
			for _, x := range logs[i] {
				sum += x
			}
			c.Classes[i].NominalGFLOPS = math.Exp(sum / float64(len(logs[i])))
		}
	}
}

// merged says why rows by device have no rates of failures.
const merged = "rows by device merge the attempts of a round: those that failed are not told apart"

// setFaults sets the rates of failures: of attempts that failed or were lost, and of rounds
// without an attempt, if the server asks all clients.
func (p *plan) setFaults(c *Calibration) {
	dropped, attempts := make([]int, len(p.clients)), make([]int, len(p.clients))
	asked, rounds := make([]int, len(p.clients)), make([]int, len(p.clients))
	in := map[[2]int]bool{} // client and run
	there := map[[2]int]bool{}
	for i := range p.rows {
		r := &p.rows[i]
		attempts[r.client]++
		if r.Outcome == attemptlog.Failed || r.Outcome == attemptlog.Lost {
			dropped[r.client]++
		}
		if k := [2]int{r.client, r.round}; !there[k] {
			there[k] = true
			asked[r.client]++
		}
		in[[2]int{r.client, r.run}] = true
	}
	for i := range c.Runs {
		for client := range p.clients {
			if in[[2]int{client, i}] {
				rounds[client] += c.Runs[i].Rounds
			}
		}
	}
	selected := slices.ContainsFunc(p.runs, func(r *attemptlog.Run) bool {
		n, ok := r.Setting("federation.clients_per_round").(int64)
		protocol, _ := r.Setting("federation.protocol").(string)
		return ok && n > 0 || protocol == "asynchronous" || protocol == "first"
	})
	absent := func(asked, rounds int) Value {
		if p.byDevice {
			return unknown("", merged)
		}
		if selected {
			return unknown("", "the server selects clients: clients that are absent and clients that are not selected look alike")
		}
		return proportion(rounds-asked, rounds)
	}
	drop := func(dropped, attempts int) Value {
		if p.byDevice {
			return unknown("", merged)
		}
		return proportion(dropped, attempts)
	}
	var sums [4]int
	for i := range c.Clients {
		c.Clients[i].Drop, c.Clients[i].Absent = drop(dropped[i], attempts[i]), absent(asked[i], rounds[i])
		for k, n := range []int{dropped[i], attempts[i], asked[i], rounds[i]} {
			sums[k] += n
		}
	}
	c.Faults = Faults{drop(sums[0], sums[1]), absent(sums[2], sums[3])}
}

// listMissing lists what is not identified: of classes, and what all share.
func (p *plan) listMissing(c *Calibration) {
	add := func(term, scope string, v *Value) {
		if !v.Known() {
			c.Missing = append(c.Missing, Missing{term, scope, v.Why})
		}
	}
	for i := range c.Classes {
		k := &c.Classes[i]
		scope := ""
		if len(c.Classes) > 1 {
			scope = "class " + k.Name
		}
		add("task_overhead_s", scope, &k.TaskOverheadS)
		add("step_overhead_s", scope, &k.StepOverheadS)
		add("traffic_s_per_gb", scope, &k.TrafficSPerGB)
		add("gflops", scope, &k.GFLOPS)
		add("speed_spread", scope, &k.Spread)
	}
	for k, name := range []string{"down_mbps", "up_mbps", "rtt_ms"} {
		for i := range c.Clients {
			v := []*Value{&c.Clients[i].DownMbps, &c.Clients[i].UpMbps, &c.Clients[i].RTTms}[k]
			if !v.Known() {
				add(name, "", v)
				break
			}
		}
	}
	add("wire_factor", "", &c.Network.WireFactor)
	add("burst_bytes", "", &c.Network.BurstBytes)
	w := &c.Waiting
	add("client_poll_s", "", &w.ClientPollS)
	add("server_poll_s", "", &w.ServerPollS)
	add("launch_poll_s", "", &w.LaunchPollS)
	add("launch_s", "", &w.LaunchS)
	add("launch_gflop", "", &w.LaunchGFLOP)
	add("cold_start_s", "", &w.ColdStartS)
	add("round_gap_s", "", &w.RoundGapS)
	add("compute_jitter", "", &c.Jitter.Compute)
	add("run_jitter", "", &c.Jitter.Run)
	add("drop_probability", "", &c.Faults.Drop)
	add("absent", "", &c.Faults.Absent)
}

// oneKind notes what no log of this kind tells apart.
func (p *plan) oneKind() (notes []string) {
	type work struct{ steps, flops, bytes float64 }
	runs := map[work]int{} // a run that has the work
	repeated := false
	for i := range p.rows {
		r := &p.rows[i]
		k := work{orZero(r.Steps), orZero(r.flops), r.BytesDown}
		if run, ok := runs[k]; ok && run != r.run {
			repeated = true
		}
		runs[k] = r.run
	}
	if len(p.runs) > 1 && !repeated {
		notes = append(notes, "Every run has its own work: the speed of the day cannot be told from an error of the model. Repeat a run.")
	}
	nominal := slices.ContainsFunc(p.rows, func(r row) bool { return r.GFLOPS > 0 })
	if nominal {
		notes = append(notes, "A share of a processor and its speed cannot be told apart: gflops is their product.")
	}
	return notes
}
