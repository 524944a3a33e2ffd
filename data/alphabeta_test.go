package data

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

func alphaBeta(change func(*Config)) Config {
	cfg := Defaults()
	cfg.Source, cfg.Target, cfg.TestFraction = SourceAlphaBeta, TargetClasses, 0.1
	change(&cfg)
	return cfg
}

// moments returns the mean and the standard deviation of values.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(deviation)
}

// The moments that the definition gives, over 2,000 devices: of the logarithm of rows, of
// the means of features over devices, and of features within a device. Tolerances are at
// least five standard errors.
func TestAlphaBetaHasTheMomentsOfItsDefinition(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	const alpha, beta = 0.5, 2.0
	cfg := alphaBeta(func(c *Config) { c.AlphaBeta = AlphaBetaConfig{2000, 6, 4, alpha, beta, false} })
	set := loaded(t, cfg)
	var large, firsts, differences, within []float64
	for _, task := range set.Clients {
		n := task.X.Rows
		expect.Must(t, n >= 50 && n <= 50+mostAlphaBetaRows, "%d rows", n)
		if n > 2050 { // a share of P(N > (ln 2000 - 4)/2) = 0.0359
			large = append(large, 1)
		}
		means := make([]float64, set.Features)
		for i := range n {
			for j, x := range task.X.Row(i) {
				means[j] += x / float64(n)
			}
		}
		firsts = append(firsts, means[0])
		differences = append(differences, means[0]-means[1])
		last := 0.0
		for i := range n {
			x := task.X.Row(i)[5] - means[5]
			last += x * x / float64(n-1)
		}
		within = append(within, last)
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		expect.That(t, math.Abs(got-want) <= tolerance, "%s is %.4f, want %.4f +- %.4f", what, got, want, tolerance)
	}
	near("the share of devices above 2,050 rows", float64(len(large))/2000, 0.0359, 0.021)
	mean, deviation := moments(firsts)
	// v_1 = B + N(0, 1) has variance beta^2 + 1, and the mean of rows at most 1/50 more.
	near("the mean of v_1", mean, 0, 0.25)
	near("the deviation of v_1", deviation, math.Sqrt(beta*beta+1), 0.19)
	_, deviation = moments(differences)
	near("the deviation of v_1 - v_2", deviation, math.Sqrt2, 0.12)
	mean, _ = moments(within)
	near("the variance of x_6", mean, math.Pow(6, -1.2), 0.003)
}

// The sizes of the paper, the mean of the features of the IID set, and the class of the
// largest score.
func TestAlphaBetaModels(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	set := loaded(t, alphaBeta(func(c *Config) { c.AlphaBeta.IID = true }))
	if set.Name != "synthetic_iid (generated)" || set.Features != 60 || len(set.Clients) != 30 ||
		len(set.Classes) != 10 || !set.Generated {
		t.Errorf("%s of %d features, %d tasks, %d classes", set.Name, set.Features, len(set.Clients), len(set.Classes))
	}
	sum, n := 0.0, 0
	for _, task := range set.Clients {
		for i := range task.X.Rows {
			sum += task.X.Row(i)[0]
			n++
		}
	}
	mean := sum / float64(n)
	expect.That(t, math.Abs(mean) <= 5/math.Sqrt(float64(n)), "feature 1 has mean %g", mean)
	a := AlphaBetaConfig{Clients: 1, Features: 2, Classes: 3}
	model := []float64{1, 0, 0 /**/, 0, 1, 0 /**/, -1, -1, 0.5}
	for _, c := range []struct {
		x    []float64
		want int
	}{{[]float64{1, 0}, 0}, {[]float64{0, 1}, 1}, {[]float64{-1, -1}, 2}, {[]float64{0.1, 0.1}, 2},
		{[]float64{3, 3}, 0}} {
		got := a.class(model, c.x)
		expect.That(t, got == c.want, "the class of %v is %d, want %d", c.x, got, c.want)
	}
}
