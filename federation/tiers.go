package federation

import "sort"

// tiers are the rounds of hubs of a Tiered driver. A round of the server is, for a hub, a
// message from the server, several rounds with its devices, and a report. Hubs do
// not wait for each other. A round of a hub ends when no device can still respond to
// it; protocols see reports alone. A device that failed in one round of its hub is asked in the
// next one. Round h of the server and round i of a hub have the number h*rounds + i for the
// random draws of devices.
type tiers struct {
	server *Server
	driver Tiered
	rounds int
	done   []int32 // by hub: rounds that have ended in the open round
	work   []bool  // by device: it may still work for a report in the open round
	gave   []bool  // by device: its hub has a response of it in the open round
	steps  []int64 // by device: of its responses to its hub in the open round
	listed []int32 // scratch
}

// newTiers returns the rounds of hubs; nil for another driver, and without hubs.
func newTiers(f *Server) *tiers {
	rounds := f.work.HubRounds
	if rounds == 0 || f.setup.Network.HubSize == 0 {
		return nil
	}
	n := f.setup.Clients
	return &tiers{
		server: f, driver: f.driver.(Tiered), rounds: rounds,
		done: make([]int32, f.setup.Network.Hubs(n)), work: make([]bool, n), gave: make([]bool, n),
		steps: make([]int64, n),
	}
}

// open begins the rounds of hubs of the open round.
func (ti *tiers) open() {
	if ti == nil {
		return
	}
	f := ti.server
	clear(ti.done)
	for _, client := range f.open.asked {
		ti.gave[client], ti.steps[client] = false, 0
		ti.work[client] = f.traits.WaitsForAll || f.clients.Available(int(client))
	}
}

// asked returns the devices of hub g that the round asks.
func (ti *tiers) asked(g int) []int32 {
	size, asked := ti.server.setup.Network.HubSize, ti.server.open.asked
	place := func(client int) int {
		return sort.Search(len(asked), func(i int) bool { return int(asked[i]) >= client })
	}
	return asked[place(g*size):place((g+1)*size)]
}

// expects reports whether a device, which has not responded in a round of its hub, may still
// work for the report. Then its hub waits for it no longer.
func (ti *tiers) expects(client int) bool { return ti != nil && ti.server.clients.StopWaiting(client) }

// gathered hears that no response to hub g is missing. It reports whether the hub has begun
// another round; otherwise it reports to the server.
func (ti *tiers) gathered(g int) (again bool) {
	if ti == nil || ti.server.open.ended {
		return false
	}
	f := ti.server
	asked := ti.asked(g)
	ti.done[g]++
	ti.listed = ti.listed[:0]
	if int(ti.done[g]) < ti.rounds {
		for _, client := range asked {
			if ti.work[client] && (f.traits.WaitsForAll || f.clients.Available(int(client))) {
				ti.listed = append(ti.listed, client)
			}
		}
	}
	if len(ti.listed) == 0 {
		ti.report(asked)
		return false
	}
	for _, client := range asked {
		ti.closeAttempt(int(client), true)
	}
	ti.driver.Gather(g)
	ti.repeat(g)
	return true
}

// closeAttempt ends what a device did in a round of its hub. Its work is committed if it has
// responded and the hub needs it for its next round; before the report it stays tentative.
func (ti *tiers) closeAttempt(client int, commit bool) {
	f := ti.server
	d, held := f.attempts.device(client), f.clients.Held(client)
	if held {
		ti.steps[client] += int64(d.steps)
		if commit {
			f.journal.note(ResponseHeld, client, 0)
		}
	}
	switch {
	case held && !commit:
		ti.gave[client] = true
		return
	case held && !f.partial.drops(client):
		f.driver.Commit(client, f.weight(client))
	case d.solved:
		f.driver.Discard(client)
	}
	ti.gave[client] = ti.gave[client] || held
	d.solved = false
}

// report closes the last round of a hub: it reports for the devices that have responded in
// some round, and the others are done.
func (ti *tiers) report(asked []int32) {
	f := ti.server
	for _, client := range asked {
		ti.closeAttempt(int(client), false)
		switch {
		case ti.gave[client]:
			f.clients.Represent(int(client))
		case ti.work[client]:
			ti.work[client] = false
			f.open.outstanding--
		}
	}
	f.attempts.checkExhausted()
}

// repeat lets hub g ask the devices listed in another round of the hub.
func (ti *tiers) repeat(g int) {
	f, listed := ti.server, ti.listed
	for _, client := range listed {
		f.clients.Release(int(client))
		f.clients.PrepareDownlink(int(client), f.number(int(client)), 0)
	}
	f.attempts.solve(listed)
	for _, client := range listed {
		f.attempts.prepareUplink(int(client))
	}
	// The list is used again when the round of a hub ends at once.
	f.clients.RepeatHub(g, append([]int32(nil), listed...))
}

// close forgets what hubs gathered whose reports the server does not take.
func (ti *tiers) close() {
	if ti == nil {
		return
	}
	for g := range ti.done {
		asked, reported := ti.asked(g), false
		for _, client := range asked {
			reported = reported || ti.server.Takes(int(client))
		}
		if !reported && len(asked) > 0 {
			ti.driver.Withdraw(g)
		}
	}
}
