package prediction

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
)

// The figure has the responses that both runs have, and the makespans: of the model the means over
// seeds. A run without nominal values has none.
func TestFigureOfChecks(t *testing.T) {
	lost := two(4, 2, true)
	lost.Attempts[1].Seen = math.NaN()
	more := two(5, 1, true) // a client that the server asks once more than in the log
	more.Attempts = append(more.Attempts, Attempt{Sent: 5, Seen: 6})
	all := []*Checked{
		{Measured: lost, Predicted: more, ByNominal: two(3, 2, true), MeasuredS: 4, PredictedS: 5.5},
		{Measured: two(6, 1, true), Predicted: two(7, 1, true), MeasuredS: 6, PredictedS: 7},
	}
	s := compared(all)
	responses, makespans := s.Panels[0].Points, s.Panels[1].Points
	for _, c := range []struct {
		what      string
		got, want []float64
	}{
		{"measured", responses[0].X, []float64{4, 6, 1}}, {"predicted", responses[0].Y, []float64{5, 7, 1}},
		{"measured with nominal values", responses[1].X, []float64{4}}, {"nominal", responses[1].Y, []float64{3}},
		{"measured makespans", makespans[0].X, []float64{4, 6}}, {"makespans", makespans[0].Y, []float64{5.5, 7}},
		{"nominal makespans", makespans[1].Y, []float64{3}},
	} {
		expect.That(t, slices.Equal(c.got, c.want), "%s: %v, want %v", c.what, c.got, c.want)
	}
	if s := compared(all[1:]); len(s.Series) != 1 || len(s.Panels[1].Points) != 1 {
		t.Errorf("without nominal values there are series %q", s.Series)
	}
	_, err := Figure(all)
	expect.That(t, err == nil, "%v", err)
}
