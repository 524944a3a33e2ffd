// Package heterogeneity measures how different devices and their availability are. DevMC and StatMC are
// those of FLHetBench (Zhang et al., CVPR 2024) as its code defines them: Carkham/FLHetBench,
// sampling_methods.py and metric.py, commit 633c071. They play rounds of trips (transfers of a
// model) and compare them with rounds of ideal clients.
//
// Times are in seconds. The package must not know of fleets, trace files or runs.
package heterogeneity

import (
	"math"
	"slices"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// Setting describes the rounds that are played.
type Setting struct {
	Chosen    int     // clients of a round; all that are ready if they are fewer
	DeadlineS float64 // R: a longer trip fails
	Rounds    int     // R
	Cap       int     // R: successes of a client that count
	Trips     int     // T: trips that the rounds must start
	SlowShare float64 // T: a round waits for all but this share of its trips
	BreakS    float64 // before each round
	Seed      uint64  // of the choice among more ready clients than Chosen
}

// Default returns the defaults of FLHetBench, which are for 100 clients.
func Default() Setting {
	return Setting{Chosen: 20, DeadlineS: 120, Rounds: 3000, Cap: 600, Trips: 10000, SlowShare: 0.2, BreakS: 20}
}

// Measured is the largest number of clients that are measured: FLHetBench's.
const Measured = 100

// For returns the defaults for a number of clients: rounds choose at most all of them, as many rounds
// start trips, and a client has its share of successes. For 100 they are those of FLHetBench.
func For(n int) Setting {
	s := Default()
	s.Chosen = min(s.Chosen, n)
	s.Trips, s.Cap = s.Trips/20*s.Chosen, s.Rounds*s.Chosen/max(1, n)
	return s
}

// ModelBytes is the size of FLHetBench's model, which a trip receives and sends.
const ModelBytes = 85800194 * 4

// TripCosts are the costs of trips in seconds over which StatMC has its means: R to the deadline, and T.
func (s *Setting) tripCosts(timed bool) (costs []float64) {
	if timed {
		for cost := 0.0; cost <= 240; cost += 10 {
			costs = append(costs, cost)
		}
		return costs
	}
	for cost := 10.0; cost <= s.DeadlineS; cost += 10 {
		costs = append(costs, cost)
	}
	return costs
}

// trip returns how long a trip of a client takes that begins at an instant; ready is false if the client
// begins none.
type trip func(client int, at float64) (seconds float64, ready bool)

// play plays rounds until more returns false. more hears of the chosen clients and the lengths of their
// trips, and returns how long the round lasts.
func (s *Setting) play(n int, trip trip,
	more func(at float64, clients []int, lengths []float64) (round float64, more bool)) {
	ready, lengths := make([]int, 0, n), make([]float64, n)
	at, stream := 0.0, rng.New(s.Seed, rng.Measure, 0, 0)
	for going := true; going; {
		at += s.BreakS
		ready = ready[:0]
		for i := range n {
			if seconds, ok := trip(i, at); ok {
				ready, lengths[i] = append(ready, i), seconds
			}
		}
		if len(ready) > s.Chosen {
			for k := range s.Chosen { // a draw without replacement
				i := k + stream.IntN(len(ready)-k)
				ready[k], ready[i] = ready[i], ready[k]
			}
			ready = ready[:s.Chosen]
		}
		chosen := make([]float64, len(ready))
		for k, i := range ready {
			chosen[k] = lengths[i]
		}
		var round float64
		round, going = more(at, ready, chosen)
		at += round
	}
}

// successes returns log(1 + sum_i min(S_i, cap)) / log(1 + cap n), with S_i the trips of client i within
// the deadline: 1 is best.
func (s *Setting) successes(n int, trip trip) float64 {
	done, round := make([]int, n), 0
	s.play(n, trip, func(_ float64, clients []int, lengths []float64) (float64, bool) {
		longest := 0.0
		for k, i := range clients {
			if lengths[k] <= s.DeadlineS {
				done[i]++
			}
			longest = max(longest, min(lengths[k], s.DeadlineS))
		}
		round++
		return longest, round < s.Rounds
	})
	sum := 0
	for _, d := range done {
		sum += min(d, s.Cap)
	}
	return elementary.Log(1+float64(sum)) / elementary.Log(1+float64(s.Cap*n))
}

// maxRounds limits the rounds of times: half of the rounds of ideal clients start no trip in 20 times
// as many.
const maxRounds = 20

// times returns the time in which rounds start Trips trips, over that of the breaks of rounds with ideal
// clients: 1 is best. It is infinite after 20 times as many rounds.
func (s *Setting) times(n int, trip trip) float64 {
	started, end, round := 0, 0.0, 0
	ideal := float64(s.Trips) / float64(min(n, s.Chosen))
	s.play(n, trip, func(at float64, clients []int, lengths []float64) (float64, bool) {
		length := 0.0
		if len(lengths) > 0 {
			slices.Sort(lengths)
			length = percentile(lengths, 1-s.SlowShare)
		}
		started += len(clients)
		end = at + length
		if round++; float64(round) > maxRounds*ideal {
			end, started = math.Inf(1), s.Trips
		}
		return length, started < s.Trips
	})
	return end / (ideal * s.BreakS)
}

// percentile returns a percentile of sorted numbers, interpolated linearly (NumPy's default).
func percentile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}

// DevMC returns the measures R and T of devices that are always available, by the seconds of the trip
// of each.
func (s *Setting) DevMC(costs []float64) (r, t float64) {
	always := func(i int, _ float64) (float64, bool) { return costs[i], true }
	return s.successes(len(costs), always), s.times(len(costs), always)
}

// Intervals are the intervals [from, to) of a period in seconds in which a client is available, in order.
type Intervals struct {
	On     [][2]float64
	Period float64 // from which the intervals repeat
}

// StatMC returns the measures R and T of the availability of clients: means over the costs of a trip,
// which lasts until ceil(cost) available seconds have passed.
func (s *Setting) StatMC(clients []Intervals) (r, t float64) {
	mean := func(timed bool, measure func(int, trip) float64) (sum float64) {
		costs := s.tripCosts(timed)
		for _, cost := range costs {
			sum += measure(len(clients),
				func(i int, at float64) (float64, bool) { return clients[i].trip(at, math.Ceil(cost)) })
		}
		return sum / float64(len(costs))
	}
	return mean(false, s.successes), mean(true, s.times)
}

// trip returns how long it takes from an instant on until some available seconds have passed; ready is
// false if the client is not available at that instant.
func (in *Intervals) trip(at, need float64) (seconds float64, ready bool) {
	within := math.Mod(at, in.Period)
	i, _ := slices.BinarySearchFunc(in.On, within, func(on [2]float64, t float64) int {
		if on[1] <= t {
			return -1
		}
		return 1
	})
	if i == len(in.On) || in.On[i][0] > within {
		return 0, false
	}
	for from, base := within, 0.0; ; {
		if left := in.On[i][1] - from; left >= need {
			return base + from + need - within, true
		} else {
			need -= left
		}
		if i++; i == len(in.On) {
			i, base = 0, base+in.Period
		}
		from = in.On[i][0]
	}
}

// P90P10 returns the 90th over the 10th percentile of positive numbers, interpolated linearly.
func P90P10(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return percentile(sorted, 0.9) / percentile(sorted, 0.1)
}
