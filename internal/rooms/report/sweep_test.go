package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// The axes are those in which runs differ, with the keys of a sample in place of its numbers and
// the methods last. A run that ended before a target has a bound; one that was interrupted has no value.
func TestSwept(t *testing.T) {
	nan := math.NaN()
	target := results.Target{Metric: "test_error", Value: 0.2}
	run := func(method, number, lambda, link string, status results.Status, errors ...float64) results.Run {
		r := results.Run{Experiment: "e", Method: method, Status: status, Point: []results.Setting{
			{Key: "sample", Value: number}, {Key: "problem.lambda", Value: lambda},
			{Key: "network.profile", Value: link}, {Key: "data.bias", Value: "true"}}}
		for h, x := range errors {
			round := results.NewRound()
			round.Round, round.TimeS, round.BytesUp, round.TestError, round.EnergyJ = h, float64(3*h), 10, x, 1
			r.Rounds = append(r.Rounds, round)
		}
		return r
	}
	runs := []results.Run{
		run("a", "1", "0.5", "lte", results.Done, 1, 0.3, 0.1),
		run("a", "2", "2e-06", "wifi", results.Done, 1, 0.3, 0.25),
		run("b", "1", "0.5", "lte", results.Interrupted, 1, 0.3),
	}
	e := scenario.Experiment{Axes: []scenario.Axis{{Name: "sample", Keys: []string{"problem.lambda"}},
		{Name: "network.profile"}}}
	got := sweptOf(&e, runs, results.Targets{target})
	type axis struct {
		name    string
		numbers int
		sampled bool
	}
	var axes []axis
	for _, a := range got.Axes {
		axes = append(axes, axis{a.Name, len(a.Numbers), a.Sampled})
	}
	if want := []axis{{"problem.lambda", 2, true}, {"network.profile", 0, false},
		{"method", 0, false}}; !slices.Equal(axes, want) {
		t.Errorf("axes %v, want %v", axes, want)
	}
	if x := got.Axes[0].Numbers[1]; x != 2e-6 {
		t.Errorf("the second value is %g", x)
	}
	var names []string
	for _, m := range got.Measures {
		names = append(names, fmt.Sprintf("%s %s %t", m.Name, m.Units, m.Target))
	}
	if want := []string{"time to test error by rows 20 % time_s true", "rounds to test error by rows 20 %  true",
		"data sent to test error by rows 20 % bytes_up true", "energy to test error by rows 20 % energy_j true",
		"test error by rows at the end  false", "total virtual time time_s false",
		"total energy energy_j false"}; !slices.Equal(names, want) {
		t.Errorf("measures %q, want %q", names, want)
	}
	for i, want := range []struct {
		at     []int
		ended  bool
		bound  bool
		values []float64
	}{
		{[]int{0, 0, 0}, true, false, []float64{6, 2, 30, 3, 0.1, 6, 3}},
		{[]int{1, 1, 0}, true, true, []float64{6, 2, 30, 3, 0.25, 6, 3}},
		{[]int{0, 0, 1}, false, false, []float64{nan, nan, nan, nan, 0.3, 3, 2}},
	} {
		trial := got.Trials[i]
		same := slices.EqualFunc(trial.Values, want.values, func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		})
		if !slices.Equal(trial.At, want.at) || trial.Ended != want.ended || trial.Bounds[0] != want.bound ||
			trial.Bounds[4] || !same {
			t.Errorf("trial %d is %+v, want %+v", i, trial, want)
		}
	}
	none := sweptOf(&scenario.Experiment{}, runs[:1], results.Targets{target})
	expect.That(t, len(none.Axes) == 0 && len(none.Trials) == 0, "one run has %+v", none)
}
