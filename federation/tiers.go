package federation

import (
	"fmt"
	"sort"

	"fedsim/algorithms"
	"fedsim/config"
)

// tiers are the rounds of hubs under a method with Description.HubRounds. A round of the server
// is, for a hub, a message from the server, several rounds of its own with its devices, and a
// report. Hubs do not wait for each other. A round of a hub ends when none of its devices may
// still respond to it; protocols see reports alone. A device that failed in one round of
// its hub is asked in the next one. Round h of the server and round i of a hub have the
// number h*rounds + i for the random draws of devices.
type tiers struct {
	rounds int
	done   []int32 // by hub: rounds that have ended in the open round
	work   []bool  // by device: it may still work for a report in the open round
	gave   []bool  // by device: its hub has a response of it in the open round
	steps  []int64 // by device: of its responses to its hub in the open round
	listed []int32 // scratch
}

// newTiers returns the rounds of hubs; nil for another method.
func (f *Federation) newTiers() *tiers {
	s := &f.setup
	rounds := f.method.About.HubRounds
	if rounds == 0 || s.Network.HubSize == 0 {
		return nil
	}
	n := s.Clients
	return &tiers{
		rounds: rounds,
		done:   make([]int32, s.Network.Hubs(n)), work: make([]bool, n), gave: make([]bool, n),
		steps: make([]int64, n),
	}
}

// ValidateHubs reports a method whose hubs average by themselves where there are no hubs.
func ValidateHubs(c *config.Checker, hubSize int, method *algorithms.Description) {
	c.Require(method.HubRounds == 0 || hubSize > 0, "network.hub_size", hubSize, fmt.Sprintf("must be positive: hubs of %s average models", method.Name))
}

// perRound returns how many numbers of attempts a round has.
func (f *Federation) perRound() int {
	if f.tiers == nil {
		return 1
	}
	return f.tiers.rounds
}

// number returns that of the next attempt of device t.
func (f *Federation) number(t int) int {
	if f.tiers == nil {
		return f.round
	}
	return f.round*f.tiers.rounds + int(f.tiers.done[t/f.setup.Network.HubSize])
}

// askedIn returns the round of the last attempt of device t.
func (f *Federation) askedIn(t int) int {
	number := f.clients.Number(t)
	if number < 0 {
		return number
	}
	return number / f.perRound()
}

// localRound returns how often a device that takes part in everything has worked before the
// round in which device t was asked; 0 without rounds.
func (f *Federation) localRound(t int) int {
	if f.tiers == nil {
		return f.round
	}
	return f.clients.Number(t)
}

// openTiers begins the rounds of hubs of the open round.
func (f *Federation) openTiers() {
	ti := f.tiers
	if ti == nil {
		return
	}
	clear(ti.done)
	for _, t := range f.open.asked {
		ti.gave[t], ti.steps[t] = false, 0
		ti.work[t] = f.traits.WaitsForAll || f.clients.Available(int(t))
	}
}

// askedBehind returns the devices of hub g that the round asks.
func (f *Federation) askedBehind(g int) []int32 {
	size, asked := f.setup.Network.HubSize, f.open.asked
	place := func(t int) int {
		return sort.Search(len(asked), func(i int) bool { return int(asked[i]) >= t })
	}
	return asked[place(g*size):place((g+1)*size)]
}

// goesOn reports whether device t, of which no response comes to a round of its hub, may
// still work for the report. Then its hub waits for it no longer.
func (f *Federation) goesOn(t int) bool { return f.tiers != nil && f.clients.StopWaiting(t) }

// gathered hears that no response to hub g is missing. It reports whether the hub has begun
// another round; otherwise it reports to the server.
func (f *Federation) gathered(g int) (again bool) {
	ti := f.tiers
	if ti == nil || f.open.ended {
		return false
	}
	asked := f.askedBehind(g)
	ti.done[g]++
	ti.listed = ti.listed[:0]
	if int(ti.done[g]) < ti.rounds {
		for _, t := range asked {
			if ti.work[t] && (f.traits.WaitsForAll || f.clients.Available(int(t))) {
				ti.listed = append(ti.listed, t)
			}
		}
	}
	if len(ti.listed) == 0 {
		f.report(asked)
		return false
	}
	for _, t := range asked {
		f.closeAttempt(int(t), true)
	}
	f.method.Tiered.Gather(g)
	f.repeatHub(g)
	return true
}

// closeAttempt ends what device t did in a round of its hub. Its work is committed if it has
// responded and the hub needs it for its next round; before the report it stays tentative.
func (f *Federation) closeAttempt(t int, commit bool) {
	d, held := &f.devices[t], f.clients.Held(t)
	if held {
		f.tiers.steps[t] += int64(d.steps)
	}
	switch {
	case held && !commit:
		f.tiers.gave[t] = true
		return
	case held && !f.part.drops(t):
		f.commit(t)
	case d.solved:
		f.method.Discard(t)
	}
	f.tiers.gave[t] = f.tiers.gave[t] || held
	d.solved = false
}

// report closes the last round of a hub: it reports for the devices that have responded in
// some round, and the others are done.
func (f *Federation) report(asked []int32) {
	for _, t := range asked {
		f.closeAttempt(int(t), false)
		switch {
		case f.tiers.gave[t]:
			f.clients.Represent(int(t))
		case f.tiers.work[t]:
			f.tiers.work[t] = false
			f.open.outstanding--
		}
	}
	f.checkExhausted()
}

// repeatHub lets hub g ask the devices listed in another round of its own.
func (f *Federation) repeatHub(g int) {
	listed := f.tiers.listed
	for _, t := range listed {
		f.clients.Release(int(t))
		f.clients.PrepareDownlink(int(t), f.number(int(t)), 0)
	}
	f.solve(listed)
	for _, t := range listed {
		f.prepareUplink(int(t))
	}
	// The list is used again when the round of a hub ends at once.
	f.clients.RepeatHub(g, append([]int32(nil), listed...))
}

// closeTiers forgets what hubs gathered whose reports the server does not take.
func (f *Federation) closeTiers() {
	if f.tiers == nil {
		return
	}
	for g := range f.tiers.done {
		asked, reported := f.askedBehind(g), false
		for _, t := range asked {
			reported = reported || f.takes(int(t))
		}
		if !reported && len(asked) > 0 {
			f.method.Tiered.Withdraw(g)
		}
	}
}
