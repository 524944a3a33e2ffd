package federation

import (
	"sort"

	"fedsim/clients"
)

// tiers are the rounds of hubs of a Tiered driver. A round of the server is, for a hub, a
// message from the server, several rounds with its devices, and a report. Hubs do
// not wait for each other. A round of a hub ends when no device can still respond to
// it; protocols see reports alone. A device that failed in one round of its hub is asked in the
// next one. Round h of the server and round i of a hub have the number h*rounds + i for the
// random draws of devices.
type tiers struct {
	clients  *clients.Clients
	attempts *attempts
	journal  *journal
	round    *OpenRound
	driver   Tiered
	rounds   int
	size     int     // of a hub
	all      bool    // a round waits for all devices
	done     []int32 // by hub: rounds that have ended in the open round
	work     []bool  // by device: it may still work for a report in the open round
	gave     []bool  // by device: its hub has a response of it in the open round
	steps    []int64 // by device: of its responses to its hub in the open round
	listed   []int32 // scratch
}

// newTiers returns the rounds of hubs; nil for another driver, and without hubs.
func newTiers(f *Server) *tiers {
	rounds := f.work.HubRounds
	if rounds == 0 || f.setup.Network.HubSize == 0 {
		return nil
	}
	n := f.setup.Clients
	return &tiers{
		clients: f.clients, attempts: &f.attempts, journal: &f.journal, round: &f.open,
		driver: f.driver.(Tiered), rounds: rounds, size: f.setup.Network.HubSize, all: f.traits.WaitsForAll,
		done: make([]int32, f.setup.Network.Hubs(n)), work: make([]bool, n), gave: make([]bool, n),
		steps: make([]int64, n),
	}
}

// open begins the rounds of hubs of the open round.
func (ti *tiers) open() {
	if ti == nil {
		return
	}
	clear(ti.done)
	for _, client := range ti.round.asked {
		ti.gave[client], ti.steps[client] = false, 0
		ti.work[client] = ti.all || ti.clients.Available(int(client))
	}
}

// number returns that of the next attempt of a device.
func (ti *tiers) number(client int) int {
	return ti.round.Number()*ti.rounds + int(ti.done[client/ti.size])
}

// asked returns the devices of hub g that the round asks.
func (ti *tiers) asked(g int) []int32 {
	size, asked := ti.size, ti.round.asked
	place := func(client int) int {
		return sort.Search(len(asked), func(i int) bool { return int(asked[i]) >= client })
	}
	return asked[place(g*size):place((g+1)*size)]
}

// expects reports whether a device, which has not responded in a round of its hub, may still
// work for the report. Then its hub waits for it no longer.
func (ti *tiers) expects(client int) bool { return ti != nil && ti.clients.StopWaiting(client) }

// gathered hears that no response to hub g is missing. It reports whether the hub has begun
// another round; otherwise it reports to the server.
func (ti *tiers) gathered(g int) (again bool) {
	if ti == nil || ti.round.ended {
		return false
	}
	asked := ti.asked(g)
	ti.done[g]++
	ti.listed = ti.listed[:0]
	if int(ti.done[g]) < ti.rounds {
		for _, client := range asked {
			if ti.work[client] && (ti.all || ti.clients.Available(int(client))) {
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
	d, held := ti.attempts.device(client), ti.clients.Held(client)
	if held {
		ti.steps[client] += int64(d.steps)
		if commit {
			ti.journal.note(ResponseHeld, client, 0)
		}
	}
	switch {
	case held && !commit:
		ti.gave[client] = true
		return
	case held && !ti.attempts.partial.drops(client):
		ti.attempts.commit(client)
	case d.solved:
		ti.driver.Discard(client)
	}
	ti.gave[client] = ti.gave[client] || held
	d.solved = false
}

// report closes the last round of a hub: it reports for the devices that have responded in
// some round, and the others are done.
func (ti *tiers) report(asked []int32) {
	for _, client := range asked {
		ti.closeAttempt(int(client), false)
		switch {
		case ti.gave[client]:
			ti.clients.Represent(int(client))
		case ti.work[client]:
			ti.work[client] = false
			ti.round.outstanding--
		}
	}
	ti.round.checkExhausted()
}

// repeat lets hub g ask the devices listed in another round of the hub.
func (ti *tiers) repeat(g int) {
	c, listed := ti.clients, ti.listed
	for _, client := range listed {
		c.Release(int(client))
		c.PrepareDownlink(int(client), ti.number(int(client)), 0)
	}
	ti.attempts.solve(listed)
	for _, client := range listed {
		ti.attempts.prepareUplink(int(client))
	}
	// The list is used again when the round of a hub ends at once.
	c.RepeatHub(g, append([]int32(nil), listed...))
}

// close forgets what hubs gathered whose reports the server does not take.
func (ti *tiers) close() {
	if ti == nil {
		return
	}
	for g := range ti.done {
		asked, reported := ti.asked(g), false
		for _, client := range asked {
			reported = reported || ti.attempts.taken(int(client))
		}
		if !reported && len(asked) > 0 {
			ti.driver.Withdraw(g)
		}
	}
}
