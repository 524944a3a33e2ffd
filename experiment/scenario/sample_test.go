package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// sampleOf is a scenario with a sample of ranges, one in a line.
func sampleOf(method string, size, seed int, ranges ...string) string {
	return fmt.Sprintf("%s[[experiment]]\nname = \"e\"\n[experiment.sample]\nmethod = %q\nsize = %d\nseed = %d\n"+
		"[experiment.sample.ranges]\n%s\n",
		mocha, method, size, seed, strings.Join(ranges, "\n"))
}

const (
	lambdaRange = `"problem.lambda" = { min = 1e-4, max = 1.0, scale = "log" }`
	dropRange   = `"faults.drop_probability" = { min = 0.1, max = 0.5 }`
	roundsRange = `"run.rounds" = { min = 3, max = 18 }`
	namesRange  = `"network.profile" = ["3g", "lte", "wifi"]`
)

// valuesOf returns the numbers that the points of a sample have for a key.
func valuesOf(t *testing.T, s *Scenario, key string) []float64 {
	t.Helper()
	var values []float64
	for _, j := range s.Experiments[0].Jobs {
		i := slices.IndexFunc(j.Candidates[0].Point, func(s results.Setting) bool { return s.Key == key })
		x := expect.Value(strconv.ParseFloat(j.Candidates[0].Point[i].Value, 64))(t)
		values = append(values, x)
	}
	return values
}

// Each of the equal parts of a range holds one point of a Latin hypercube, on the scale of the
// range; a whole range with a number of values that divides the size has each equally often.
func TestLatinHypercube(t *testing.T) {
	share := map[string]func(x float64) float64{
		"problem.lambda":          func(x float64) float64 { return (math.Log10(x) + 4) / 4 },
		"faults.drop_probability": func(x float64) float64 { return (x - 0.1) / 0.4 },
	}
	for _, n := range []int{1, 2, 7, 16, 64, 240} {
		for seed := range 5 {
			s := parse(t, sampleOf(latinHypercube, n, seed, lambdaRange, dropRange, roundsRange, namesRange))
			for key, of := range share {
				held := make([]int, n)
				for _, x := range valuesOf(t, s, key) {
					held[int(of(x)*float64(n))]++
				}
				expect.Must(t, slices.Max(held) == 1, "%s, n = %d, seed %d: parts hold %v points", key, n, seed, held)
			}
			times := map[float64]int{}
			for _, x := range valuesOf(t, s, "run.rounds") {
				times[x]++
			}
			for x, k := range times {
				expect.That(t, x == math.Trunc(x) && x >= 3 && x <= 18 && (n%16 != 0 || k == n/16),
					"n = %d, seed %d: run.rounds = %g occurs %d times", n, seed, x, k)
			}
		}
	}
	// Narrow ranges have more digits, so that points do not leave their parts.
	narrow := parse(t, sampleOf(latinHypercube, 50, 1, `"problem.lambda" = { min = 1.0, max = 1.001 }`))
	held := make([]int, 50)
	for _, x := range valuesOf(t, narrow, "problem.lambda") {
		held[int((x-1)/0.001*50)]++
	}
	expect.That(t, slices.Max(held) == 1, "a narrow range: parts hold %v points", held)
}

// Random values are uniform on the scale of their range and independent: Kolmogorov's distance
// and the correlation are below their quantiles of 0.999.
func TestRandomSample(t *testing.T) {
	const n = 2000
	s := parse(t,
		sampleOf(randomSample, n, 1, lambdaRange, dropRange, `"run.rounds" = { min = 1, max = 999, scale = "log" }`))
	lambda, drop := valuesOf(t, s, "problem.lambda"), valuesOf(t, s, "faults.drop_probability")
	correlation := 0.0
	for i := range n {
		lambda[i], drop[i] = (math.Log10(lambda[i])+4)/4, (drop[i]-0.1)/0.4
		correlation += (lambda[i] - 0.5) * (drop[i] - 0.5) * 12 / n
	}
	expect.That(t, math.Abs(correlation) <= 3.3/math.Sqrt(n), "the keys have correlation %g", correlation)
	for name, u := range map[string][]float64{"problem.lambda": lambda, "faults.drop_probability": drop} {
		slices.Sort(u)
		distance := 0.0
		for i, x := range u {
			distance = max(distance, math.Abs(x-float64(i)/n), math.Abs(x-float64(i+1)/n))
		}
		expect.That(t, distance <= 1.95/math.Sqrt(n), "%s: Kolmogorov's distance is %g", name, distance)
	}
	// Whole numbers of a logarithmic range: k in proportion to log((k + 1)/k).
	decades := [3]int{}
	for _, x := range valuesOf(t, s, "run.rounds") {
		decades[int(math.Log10(x)+1e-12)]++
	}
	for i, k := range decades {
		expect.That(t, math.Abs(float64(k)-n/3.0) <= 3.3*math.Sqrt(n*2/9.0),
			"%d of %d whole numbers are in decade %d", k, n, i)
	}
}

// The points are the same everywhere, and the values of a key do not depend on other keys.
func TestSampleIsPinned(t *testing.T) {
	s := parse(t, sampleOf(latinHypercube, 4, 1, lambdaRange, roundsRange, namesRange))
	want := []string{
		"e/mocha/sample=1/problem.lambda=0.8587/run.rounds=10/network.profile=lte/seed=1",
		"e/mocha/sample=2/problem.lambda=0.02912/run.rounds=6/network.profile=3g/seed=1",
		"e/mocha/sample=3/problem.lambda=0.001566/run.rounds=16/network.profile=wifi/seed=1",
		"e/mocha/sample=4/problem.lambda=0.000171/run.rounds=14/network.profile=wifi/seed=1",
	}
	diff := cmp.Diff(want, ids(s))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	diff = cmp.Diff([]Axis{{"sample", []string{"problem.lambda", "run.rounds", "network.profile"}}},
		s.Experiments[0].Axes)
	expect.That(t, diff == "", "axes (-want +got):\n%s", diff)
	for i, j := range s.Experiments[0].Jobs {
		run := &j.Candidates[0]
		got := fmt.Sprintf("problem.lambda=%v/run.rounds=%d/network.profile=%s/", run.Settings.Problem.Lambda,
			run.Settings.Run.Rounds, run.Settings.Network.Profile)
		expect.That(t, strings.Contains(want[i], got), "run %s has the settings %s", run.ID, got)
	}
	for _, method := range []string{latinHypercube, randomSample} {
		all := parse(t, sampleOf(method, 9, 3, dropRange, lambdaRange, roundsRange))
		alone := parse(t, sampleOf(method, 9, 3, lambdaRange))
		other := parse(t, sampleOf(method, 9, 4, lambdaRange))
		lambda := valuesOf(t, all, "problem.lambda")
		if !slices.Equal(lambda, valuesOf(t, alone, "problem.lambda")) ||
			slices.Equal(lambda, valuesOf(t, other, "problem.lambda")) {
			t.Errorf("%s: another range changes the values, or another seed does not", method)
		}
	}
}

// A sample is one axis of the grid: it is combined with the others, and recorded.
func TestSampleBesideGrid(t *testing.T) {
	source := sampleOf(latinHypercube, 6, 1, lambdaRange, dropRange, roundsRange) +
		"[[experiment.axis]]\nname = \"x\"\npoints = [{ label = \"a\" }, { label = \"b\", set.data.bias = true }]\n" +
		"[sweep]\n\"data.seed\" = [1, 2]\n"
	s := parse(t, source)
	if got := ids(s); len(got) != 24 || !strings.HasPrefix(got[0], "e/mocha/x=a/sample=1/problem.lambda=") ||
		!strings.HasSuffix(got[23], "/data.seed=2/seed=1") {
		t.Errorf("%d runs, the first %s, the last %s", len(got), got[0], got[len(got)-1])
	}
	resolveAgain(t, s)
	all := ids(parse(t, source, "sweep={\"data.seed\"=[1]}", "experiment.e.axis.x=a"))
	for _, set := range []string{"experiment.e.sample.points=[5, 2]", "experiment.e.axis.sample=[\"2\", \"5\"]"} {
		two := parse(t, source, "sweep={\"data.seed\"=[1]}", "experiment.e.axis.x=a", set)
		diff := cmp.Diff([]string{all[1], all[4]}, ids(two))
		expect.That(t, diff == "", "%s (-want +got):\n%s", set, diff)
		resolveAgain(t, two)
	}
	without := parse(t, source, "problem.lambda=0.5", "experiment.e.axis.sample=[\"2\"]")
	if got := ids(without); len(got) != 4 || strings.Contains(got[0], "lambda") ||
		!strings.Contains(got[0], "/sample=2/") ||
		without.Experiments[0].Jobs[0].Candidates[0].Settings.Problem.Lambda != 0.5 {
		t.Errorf("an override of a sampled key: %q", got)
	}
	if !slices.Equal(valuesOf(t, without, "faults.drop_probability")[:1],
		valuesOf(t, s, "faults.drop_probability")[2:3]) {
		t.Error("an override of a sampled key changes the values of others")
	}
	resolveAgain(t, without)
	none := parse(t, source, "problem.lambda=0.5", "faults.drop_probability=0", "run.rounds=3")
	if got := ids(none); len(got) != 4 || strings.Contains(got[0], "sample") {
		t.Errorf("all keys are overridden: %q", got)
	}
	wider := parse(t, source, "experiment.e.sample.ranges.\"problem.lambda\".max=100.0", "experiment.e.sample.size=40")
	if x := slices.Max(valuesOf(t, wider, "problem.lambda")); x <= 1 {
		t.Errorf("the largest value of a wider range is %g", x)
	}
	whole := parse(t,
		sampleOf(latinHypercube, 9, 1, `"methods.mocha.options.epochs" = { min = 1, max = 9, whole = true }`))
	if x := slices.Sorted(slices.Values(valuesOf(t, whole, "methods.mocha.options.epochs"))); !slices.Equal(x,
		[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("whole = true gives %v", x)
	}
	keyed(t, Keys(s), "experiment.e.sample.size")
	f := keyed(t, Keys(s), "experiment.e.sample.ranges.\"problem.lambda\".scale")
	expect.That(t, f.Default == `"log"` && len(f.Choices) == 2, "the scale of a range is %+v", f)
}

// Points differ, also where their number is that of all combinations.
func TestSampledPointsDiffer(t *testing.T) {
	for _, method := range []string{latinHypercube, randomSample} {
		for seed := range 10 {
			s := parse(t, sampleOf(method, 30, seed, `"run.rounds" = { min = 1, max = 10 }`, namesRange))
			seen := map[string]bool{}
			for _, j := range s.Experiments[0].Jobs {
				seen[results.SettingsText(j.Candidates[0].Point[1:])] = true
			}
			expect.That(t, len(seen) == 30, "%s, seed %d: %d of 30 points differ", method, seed, len(seen))
		}
		_, err := Parse("x.toml", []byte(sampleOf(method, 31, 1, `"run.rounds" = { min = 1, max = 10 }`, namesRange)),
			nil)
		want := "x.toml:4:1: experiment.sample: "
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%s: %v, want %s", method, err, want)
	}
}

// A figure has panels and lines for sampled keys, unless an override removes them. A driver
// selects a point.
func TestFiguresAndDriversOfSamples(t *testing.T) {
	source := sampleOf(latinHypercube, 3, 1, lambdaRange, dropRange,
		`"methods.mocha.options.epochs" = [1.0, 2.0, 3.0]`) +
		"[experiment.figure]\nseries = \"problem.lambda\"\npanel = \"faults.drop_probability\"\n"
	s := parse(t, source)
	resolveAgain(t, s)
	if f := s.Experiments[0].Figures[0]; f.Series != "problem.lambda" || f.Panel != "faults.drop_probability" {
		t.Errorf("the figure is %+v", f)
	}
	f := parse(t, source, "problem.lambda=1", "faults.drop_probability=0").Experiments[0].Figures[0]
	expect.That(t, f.Series == "method" && f.Panel == "", "the figure without the keys is %+v", f)
	if _, err := loadDriven(t, source, 5); err == nil ||
		!strings.Contains(err.Error(), `--set experiment.e.axis.sample='["1"]'`) {
		t.Errorf("a driver of three points: %v", err)
	}
	one, err := loadDriven(t, source, 5, "experiment.e.sample.points=[2]")
	expect.NoError(t, err)
	if got := ids(one); len(got) != 1 || !strings.Contains(got[0], "/sample=2/problem.lambda=") ||
		strings.Contains(got[0], "epochs") {
		t.Errorf("a driver of one point has the runs %q", got)
	}
	text, err := one.Resolved()
	expect.That(t, err == nil && !strings.Contains(string(text), "epochs"),
		"the resolved scenario of a driver: %v\n%s", err, text)
}
