package selectors

import (
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// The selections are those of the definition: numbers are drawn one after the other, from the
// stream of the server in the round, by a slow twin. The selector draws 64 numbers or fewer at a time.
func TestRejectionDrawsUntilEnoughAreAvailable(t *testing.T) {
	for _, c := range []struct {
		tries int
		there devices.Availability
	}{
		{4, servertest.Coins{Seed: 7, Share: 0.6}},
		{23, servertest.Only{0, 2, 4}}, // 69 numbers
		{2, servertest.Only{0, 2, 4}},
	} {
		r := rehearse(t, "uniform-rejection", &rejectionOptions{Tries: c.tries}, federation.SelectorSetup{},
			func(s *federation.Setup) { s.Availability = c.there })
		r.server.Begin()
		full := 0
		for round := range 50 {
			stream := rng.New(servertest.Seed, rng.Selection, -1, round)
			var want []int32
			for tries := 0; tries < 3*c.tries && len(want) < 3; tries++ {
				k := int32(stream.IntN(len(servertest.Rows)))
				if r.server.Clients().Available(int(k)) && !slices.Contains(want, k) {
					want = append(want, k)
				}
			}
			slices.Sort(want)
			if len(want) == 3 {
				full++
			}
			if got := r.pick(round, 3, nil); !slices.Equal(got, want) {
				t.Fatalf("%d tries, round %d: clients %v, want %v", c.tries, round, got, want)
			}
		}
		if full == 0 || c.tries < 23 && full == 50 {
			t.Errorf("%d tries: %d of 50 selections are full, want some", c.tries, full)
		}
	}
}

// A selection that finds nobody ends the run, and the text names the option; one that finds fewer
// than it should warns.
func TestRejectionTellsItsLimit(t *testing.T) {
	by := func(clients int, available devices.Availability) *servertest.Server {
		f := servertest.Start(t, servertest.World(protocols.Charged, func(s *federation.Setup) {
			s.Config.Clients.Count, s.Config.Selection, s.Availability = clients, "uniform-rejection", available
			s.Config.SelectionOptions = config.Options(&rejectionOptions{Tries: 1})
		}), 1)
		f.Begin()
		return f
	}
	f := by(3, servertest.Only{})
	if got := f.Select(); len(got) != 0 ||
		f.Stalled() != `selection "uniform-rejection" has found no available client in round 1 `+
			`(federation.selection_options.tries)` {
		t.Errorf("clients %v: %q", got, f.Stalled())
	}
	f = by(6, nil)
	for range 5 {
		f.Next()
	}
	warned := f.Accounts().Warnings()
	if !slices.ContainsFunc(warned, func(w results.Warning) bool {
		return w.About == "tries" && strings.HasPrefix(w.Text, "5 selections found fewer clients")
	}) {
		t.Errorf("warnings %v", warned)
	}
}
