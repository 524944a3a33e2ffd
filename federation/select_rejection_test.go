package federation

import (
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// byRejection returns the world of a selection by rejection, in which a share of the clients is
// available.
func byRejection(clients, tries int, share float64) Setup {
	return world(Charged, func(s *Setup) {
		s.Config.Clients, s.Config.Selection = clients, "uniform-rejection"
		s.Config.SelectionOptions = config.Options(&rejectionOptions{Tries: tries})
		if share < 1 {
			s.Availability = coins{7, share}
		}
	})
}

// The selections are those of the definition: numbers are drawn one after the other, from the
// stream of the server in the round, by a slow twin. The selector draws 64 numbers or fewer at a time.
func TestRejectionDrawsUntilEnoughAreAvailable(t *testing.T) {
	for _, c := range []struct {
		tries int
		there devices.Availability
	}{
		{4, coins{7, 0.6}},
		{23, only{0, 2, 4}}, // 69 numbers
		{2, only{0, 2, 4}},
	} {
		s := byRejection(3, c.tries, 1)
		s.Availability = c.there
		f := start(t, s, 1)
		f.clients.Begin()
		full := 0
		for range 50 {
			stream := rng.New(testSeed, rng.Selection, -1, f.round)
			var want []int32
			for tries := 0; tries < 3*c.tries && len(want) < 3; tries++ {
				k := int32(stream.IntN(len(sizes)))
				if f.clients.Available(int(k)) && !slices.Contains(want, k) {
					want = append(want, k)
				}
			}
			slices.Sort(want)
			if len(want) == 3 {
				full++
			}
			if got := f.Select(); !slices.Equal(got, want) {
				t.Fatalf("%d tries, round %d: clients %v, want %v", c.tries, f.round, got, want)
			}
			f.supervisor.stalled = ""
			f.round++
		}
		if full == 0 || c.tries < 23 && full == 50 {
			t.Errorf("%d tries: %d of 50 selections are full, want some", c.tries, full)
		}
	}
}

// only are the clients that are available.
type only []int

func (o only) Available(device int, _ engine.Time) (bool, engine.Time) {
	return slices.Contains(o, device), engine.Never
}

// A selection that finds nobody ends the run, and the text names the option; one that finds fewer
// than it should warns.
func TestRejectionTellsItsLimit(t *testing.T) {
	f := start(t, byRejection(3, 1, 0), 1)
	f.clients.Begin()
	if got := f.Select(); len(got) != 0 || f.Stalled() != `selection "uniform-rejection" has found no available client in round 1 (federation.selection_options.tries)` {
		t.Errorf("clients %v: %q", got, f.Stalled())
	}
	f = start(t, byRejection(6, 1, 1), 1)
	f.clients.Begin()
	for range 5 {
		f.runRound()
	}
	warned := f.Accounts().Warnings()
	if !slices.ContainsFunc(warned, func(w results.Warning) bool {
		return w.About == "tries" && strings.HasPrefix(w.Text, "5 selections found fewer clients")
	}) {
		t.Errorf("warnings %v", warned)
	}
}
