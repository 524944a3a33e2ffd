package calibration

import (
	"fmt"
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// describe adds what has no interval by bootstrap: numbers of rows, nominal values, rates of
// failures, what is not identified, and notes.
func (p *plan) describe(c *Calibration) {
	units := make([]int, len(p.classes))
	for _, u := range p.units {
		units[u.class]++
		c.Classes[u.class].Own = units[u.class] > 1
	}
	p.countAttempts(c)
	p.setNominals(c)
	p.setFaults(c)
	c.listMissing()
	if p.counted {
		c.Notes = append(c.Notes,
			"The log has no FLOPs: a row of an epoch counts as one FLOP, so that rates are rows a second.")
	}
	for r := range p.runs {
		for k := range directions {
			if p.sharesLink(r, &directions[k]) {
				c.Notes = append(c.Notes,
					fmt.Sprintf("%s: its transfers %s share a link and are not fitted.", p.runs[r].Name,
						directions[k].name))
			}
		}
	}
	c.Notes = append(c.Notes, p.oneKind()...)
}

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
		for j, nominal := range []*float64{&k.NominalDownMbps, &k.NominalUpMbps, &k.NominalGFLOPS} {
			*nominal = orZero(orderstat.Median(values[i][j]))
		}
		if k.NominalGFLOPS > 0 {
			class := p.clients[i].class
			logs[class] = append(logs[class], math.Log(k.NominalGFLOPS))
		}
	}
	for i := range c.Classes {
		if len(logs[i]) > 0 {
			mean, _ := moments(logs[i])
			c.Classes[i].NominalGFLOPS = math.Exp(mean)
		}
	}
}

// merged says why rows by device have no rates of failures.
const merged = "rows by device merge the attempts of a round: those that failed are not told apart"

// setFaults sets the rates of failures: of attempts that failed or were lost, and of rounds
// without an attempt, if the server asks all clients.
func (p *plan) setFaults(c *Calibration) {
	type counts struct{ dropped, attempts, asked, rounds int }
	of := make([]counts, len(p.clients))
	inRun, inRound := map[[2]int]bool{}, map[[2]int]bool{}
	for i := range p.rows {
		r := &p.rows[i]
		n := &of[r.client]
		n.attempts++
		if r.Outcome == attemptlog.Failed || r.Outcome == attemptlog.Lost {
			n.dropped++
		}
		if k := [2]int{r.client, r.round}; !inRound[k] {
			inRound[k] = true
			n.asked++
		}
		if k := [2]int{r.client, r.run}; !inRun[k] {
			inRun[k] = true
			n.rounds += c.Runs[r.run].Rounds
		}
	}
	selected := slices.ContainsFunc(p.runs, func(r *attemptlog.Run) bool {
		n, ok := r.Setting("federation.clients_per_round").(int64)
		protocol, _ := r.Setting("federation.protocol").(string)
		return ok && n > 0 || protocol == "asynchronous" || protocol == "first"
	})
	rates := func(n counts) (drop, absent Value) {
		if p.byDevice {
			return unknown("", merged), unknown("", merged)
		}
		drop, absent = proportion(n.dropped, n.attempts), proportion(n.rounds-n.asked, n.rounds)
		if selected {
			absent = unknown("",
				"the server selects clients: clients that are absent and clients that are not selected look alike")
		}
		return drop, absent
	}
	var all counts
	for i, n := range of {
		c.Clients[i].Drop, c.Clients[i].Absent = rates(n)
		all = counts{all.dropped + n.dropped, all.attempts + n.attempts, all.asked + n.asked, all.rounds + n.rounds}
	}
	c.Faults.Drop, c.Faults.Absent = rates(all)
}

// listMissing lists the terms that are not identified, of classes and of all.
func (c *Calibration) listMissing() {
	add := func(scope string, terms ...term) {
		for _, t := range terms {
			if t.key != "" && !t.value.Known() {
				c.Missing = append(c.Missing, Missing{t.key, scope, t.value.Why})
			}
		}
	}
	for i := range c.Classes {
		k := &c.Classes[i]
		scope := ""
		if len(c.Classes) > 1 {
			scope = "class " + k.Name
		}
		add(scope, k.terms()...)
		add(scope, term{"speed_spread", "", &k.Spread})
	}
	for k, name := range []string{"down_mbps", "up_mbps", "rtt_ms"} {
		for i := range c.Clients {
			v := []*Value{&c.Clients[i].DownMbps, &c.Clients[i].UpMbps, &c.Clients[i].RTTms}[k]
			if !v.Known() {
				add("", term{name, "", v})
				break
			}
		}
	}
	add("", c.sharedTerms()...)
	add("", c.Faults.terms()...)
}

// oneKind notes the terms that no log of this kind identifies.
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
		notes = append(notes, "Every run has its own work: the speed of the day cannot be told from an error of the "+
			"model. Repeat a run.")
	}
	nominal := slices.ContainsFunc(p.rows, func(r row) bool { return r.GFLOPS > 0 })
	if nominal {
		notes = append(notes, "A share of a processor and its speed cannot be told apart: gflops is their product.")
	}
	return notes
}
