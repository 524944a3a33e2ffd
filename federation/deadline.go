package federation

import (
	"math"
	"slices"

	"fedsim/engine"
)

// responses is how long the answers of recent rounds took; empty when no clock
// cycle depends on it.
type responses struct {
	rounds  [][]engine.Time // of the rounds that are looked at, the present one first
	missing []int           // how many did not come in each
	sorted  []engine.Time
}

func newResponses(window int) responses {
	return responses{rounds: make([][]engine.Time, window), missing: make([]int, window)}
}

// add notes an answer of the present round.
func (r *responses) add(took engine.Time) {
	if len(r.rounds) > 0 {
		r.rounds[0] = append(r.rounds[0], took)
	}
}

// quantile returns a quantile of how long the answers took, those that did not
// come being longer than all that did. ok is false when it is among those.
func (r *responses) quantile(q float64) (took engine.Time, ok bool) {
	r.sorted = r.sorted[:0]
	asked := 0
	for i, round := range r.rounds {
		r.sorted = append(r.sorted, round...)
		asked += len(round) + r.missing[i]
	}
	slices.Sort(r.sorted)
	rank := max(1, int(math.Ceil(q*float64(asked))))
	if rank > len(r.sorted) {
		return 0, false
	}
	return r.sorted[rank-1], true
}

// shift makes room for the next round in place of the oldest.
func (r *responses) shift() {
	last := len(r.rounds) - 1
	oldest := r.rounds[last][:0]
	copy(r.rounds[1:], r.rounds)
	copy(r.missing[1:], r.missing)
	r.rounds[0] = oldest
}

// lengthening is by how much a cycle grows that was too short to tell how much
// longer it should be.
const lengthening = 1.5

// adapt sets the clock cycle of the next round: a quantile of how long the answers
// of the last rounds took. When more of them are missing than it leaves out, the
// cycle grows by half.
func (f *Federation) adapt() {
	q := f.setup.Config.Quantile
	if q == 0 {
		return
	}
	r := &f.responses
	r.missing[0] = max(0, len(f.chosen)-len(r.rounds[0]))
	if took, ok := r.quantile(q); ok {
		f.cycle = took
	} else {
		f.cycle = engine.FromSeconds(f.cycle.Seconds() * lengthening)
	}
	r.shift()
}
