package learning

import (
	"slices"
	"testing"

	"fedsim/federation"
)

// The three rules draw the same candidates. The mini-batch of cpow-d does not hang on the
// number by which the candidate was drawn.
func TestPowerOfChoiceDrawsTheSameCandidates(t *testing.T) {
	cohorts := func(name string) [][]int32 {
		var seen entries
		run(t, world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
			selectBy(s, name, 3, 3)
			s.Schedule.Rounds = 20
			s.Journal = &seen
		}))
		return seen.taken(20)
	}
	script = func(s *federation.Selection) []int32 {
		return s.Weighted(3, s.Available(), func(client int32) float64 { return float64(s.Rows(client)) })
	}
	want := cohorts("blind")
	for _, name := range []string{"power-of-choice", "cpow-d", "rpow-d"} {
		if got := cohorts(name); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
			t.Errorf("%s: cohorts %v, want %v", name, got, want)
		}
	}
}
