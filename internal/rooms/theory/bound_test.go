package theory

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// Theorem 1 by hand: n = 100, eps = 1, gamma = 1/2, Theta-bar = 0.6, s = 0.1 take
// 1/(0.5 x 0.4 x 0.1) log 100 = 230.3 rounds.
func TestTheorem1ByHand(t *testing.T) {
	k := &Constants{Gamma: 0.5, S: 0.1, Start: 100}
	b := k.Smooth(0.6)
	got := b.Rounds(1)
	expect.That(t, got == 231, "H = %g, want 231", got)
	curve := b.Curve(3)
	for h, want := range []float64{100, 98, 96.04, 94.1192} {
		expect.That(t, near(curve[h], want, 1e-12), "curve[%d] = %g, want %g", h, curve[h], want)
	}
	got = k.Smooth(1).Rounds(1)
	expect.That(t, math.IsInf(got, 1), "H = %g with Theta-bar = 1, want infinitely many", got)
	got = k.Smooth(1).Rounds(100)
	expect.That(t, got == 0, "H = %g for a target that holds at once, want 0", got)
}

// After H rounds the curve is at the target, and H is not larger than the
// logarithm's bound on the rate makes it.
func TestTheorem1CurveReachesItsTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Smooth{Rate: rapid.Float64Range(1e-3, 1).Draw(t, "rate"),
			Start: rapid.Float64Range(0.1, 1e3).Draw(t, "start")}
		eps := b.Start * rapid.Float64Range(1e-6, 1).Draw(t, "share")
		h := int(b.Rounds(eps))
		curve := b.Curve(h)
		expect.That(t, curve[h] <= eps*(1+1e-12),
			"the curve is at %g after H = %d rounds, the target is %g", curve[h], h, eps)
		expect.That(t, h == 0 || math.Exp(-b.Rate*float64(h-1))*b.Start >= eps*(1-1e-9),
			"H = %d, but one round less is enough", h)
	})
}

// Theorem 2 by hand: L = 1/2 and sigma sigma' = 32 give B = 4 L^2 sigma sigma' = 32;
// gamma (1 - Theta-bar) = 1/4, D(0) - D* = 64, eps = 8:
//
//	h0 = 1 + 4 log(2 x 64/32) = 6.545,  H0 = ceil(h0 + 16 x 8/(8/4)) = ceil(h0 + 64) = 71,
//	H = H0 + ceil(8 max(1, 2 x 8/8)) = 87.
func TestTheorem2ByHand(t *testing.T) {
	k := &Constants{Gamma: 0.5, L: 0.5, Spread: 32, Start: 64}
	b := k.Lipschitz(0.5)
	h0, from, to := b.Phases(8)
	expect.That(t, near(h0, 1+4*math.Log(4), 1e-12) && from == 71 && to == 87 && b.Rounds(8) == 87,
		"h0 = %g, H0 = %g, H = %g; want 6.545, 71, 87", h0, from, to)
	// The best s is 1 as long as the bound is above B: 64 -> 3/4 64 + 1/8 32 = 52.
	curve := b.Curve(1)
	expect.That(t, curve[1] == 52, "curve[1] = %g, want 52", curve[1])
	if h0, from, to := k.Lipschitz(1).Phases(8); !math.IsInf(h0, 1) || !math.IsInf(from, 1) || !math.IsInf(to, 1) {
		t.Errorf("phases %g, %g, %g with Theta-bar = 1, want them infinite", h0, from, to)
	}
}

// The steps of the proof, on the curve: B at h0, B/(1 + q/2 (h-h0)) from there
// on, eps/2 at H0; it never rises.
func TestTheorem2CurveFollowsItsProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Lipschitz{
			Q: rapid.Float64Range(0.01, 1).Draw(t, "q"), B: rapid.Float64Range(0.1, 10).Draw(t, "B"),
			Start: rapid.Float64Range(0.1, 1e3).Draw(t, "start"),
		}
		eps := b.B * rapid.Float64Range(0.05, 4).Draw(t, "share")
		h0, from, to := b.Phases(eps)
		expect.Must(t, from >= h0 && to >= from+2, "h0 = %g, H0 = %g, H = %g", h0, from, to)
		curve := b.Curve(int(from) + 10)
		for h, value := range curve {
			if past := float64(h) - math.Ceil(h0); past >= 0 {
				most := b.B / (1 + b.Q/2*past)
				expect.Must(t, value <= most*(1+1e-9), "round %d: the curve is at %g, the proof at %g", h, value, most)
			}
			if h > 0 && value > curve[h-1] {
				t.Fatalf("the curve rises from %g to %g in round %d", curve[h-1], value, h)
			}
		}
		if value := curve[int(from)]; value > eps/2*(1+1e-9) {
			t.Errorf("the curve is at %g at H0, want at most eps/2 = %g", value, eps/2)
		}
	})
}

// Corollary asym on sequences: with a constant Theta-bar it is Theorem 1; it
// goes to zero for limits below 1, and for 1 - Theta-bar = h^-1/2, which is
// omega(1/h); not for h^-2, which is not.
func TestCorollaryOnSequences(t *testing.T) {
	k := &Constants{Gamma: 1, S: 0.2, Start: 50}
	const rounds = 20_000
	curve := func(progress func(h float64) float64) []float64 {
		bars := make([]float64, rounds)
		for h := range bars {
			bars[h] = 1 - progress(float64(h+1))
		}
		return k.Asymptotic(bars)
	}
	constant, theorem := curve(func(float64) float64 { return 0.3 }), k.Smooth(0.7).Curve(rounds)
	for h := range theorem {
		expect.Must(t, math.Abs(constant[h]-theorem[h]) <= 1e-9*theorem[h] || theorem[h] <= 1e-300,
			"round %d: %g with a constant Theta-bar, Theorem 1 says %g", h, constant[h], theorem[h])
	}
	for name, c := range map[string]struct {
		progress func(float64) float64
		zero     bool
	}{
		"limits below 1, nearly 1 at first": {func(h float64) float64 { return math.Min(0.1, h*1e-4) }, true},
		"h^-1/2":                            {func(h float64) float64 { return 1 / math.Sqrt(h) }, true},
		"h^-2":                              {func(h float64) float64 { return 1 / (h * h) }, false},
		"always dropped":                    {func(float64) float64 { return 0 }, false},
	} {
		got := curve(c.progress)
		if last := got[rounds] / k.Start; c.zero && last > 1e-20 || !c.zero && last < 0.5 {
			t.Errorf("%s: the bound is at %g of its start after %d rounds, want it to go to zero: %v", name, last,
				rounds, c.zero)
		}
	}
	if got := k.Asymptotic([]float64{1.7}); got[1] != k.Start {
		t.Errorf("a theta above 1 raises the bound to %g", got[1])
	}
}

func TestStudy(t *testing.T) {
	k := &Constants{Gamma: 1, S: 0.5, Mu: 1, L: 1, Start: 16, N: 16}
	samples := []Trajectory{
		{Gaps: []float64{8, 4, 1, 0.5}, Thetas: [][]float64{{0, 1}, {0.5, 0.5}, {0.2, 0.6}}},
		{Gaps: []float64{8, 6, 2}, Thetas: [][]float64{{0.5, 0}, {0.5, 1}}}, // ended earlier
	}
	s, err := k.Study(samples, 1.5, 0)
	expect.NoError(t, err)
	// Rounds 0 and 1 lead to the target. Device 1 is stuck in 2 of 4 and has a mean
	// of 1/4 otherwise, device 0 has (0 + 0.5 + 0.5 + 0.5)/4 = 3/8: Theta-bar = 1/2 +
	// 3/16 = 11/16, rate 5/32; log(16/1.5)/rate = 15.1.
	if s.PMax != 0.5 || s.ThetaMax != 0.375 || s.ThetaBar != 0.6875 || s.H != 16 || s.Measured != 2 ||
		s.Ratio() != 0.125 {
		t.Errorf("p_max = %g, Theta_max = %g, Theta-bar = %g, H = %g, measured %d, ratio %g", s.PMax, s.ThetaMax,
			s.ThetaBar, s.H, s.Measured, s.Ratio())
	}
	if s.LaterPMax != 0.5 || s.LaterThetaMax != 0.5 { // round 1 alone
		t.Errorf("later p_max = %g, Theta_max = %g, want 1/2 and 1/2", s.LaterPMax, s.LaterThetaMax)
	}
	if len(s.Mean) != 3 || s.Mean[1] != 5 || s.Low[1] != 4 || s.High[1] != 6 || len(s.Curve) != 3 ||
		s.Curve[1] != 13.5 {
		t.Errorf("mean %v, low %v, high %v, curve %v", s.Mean, s.Low, s.High, s.Curve)
	}
	// The largest means are 1/2 and 3/4: 16 -> 16 (1 - 1/4) -> 12 (1 - 1/8).
	expect.That(t, len(s.Corollary) == 3 && s.Corollary[1] == 12 && s.Corollary[2] == 10.5,
		"corollary %v, want 16, 12, 10.5", s.Corollary)
	if _, _, ok := s.Violation(); !ok {
		t.Error("measurements below the curves are said to break them")
	}
	s.Mean[2] = 10.9 // the bound's curve is at 11.4
	if h, bound, ok := s.Violation(); ok || h != 2 || bound != 10.5 {
		t.Errorf("a measurement above the corollary in round 2 is not reported: %d, %g, %v", h, bound, ok)
	}
	s.Mean[1] = 14
	s.Corollary = nil
	if h, bound, ok := s.Violation(); ok || h != 1 || bound != 13.5 {
		t.Errorf("a measurement above the bound in round 1 is not reported: %d, %g, %v", h, bound, ok)
	}
	s.Slack = 5
	if _, _, ok := s.Violation(); !ok {
		t.Error("a measurement that may be below the curve is said to break it")
	}

	stuck, err := k.Study([]Trajectory{{Gaps: []float64{1, 1}, Thetas: [][]float64{{1, 1.5}}}}, 0.1, 0)
	if err != nil || stuck.PMax != 1 || stuck.ThetaBar != 1 || !math.IsInf(stuck.H, 1) || stuck.Measured != -1 ||
		!math.IsNaN(stuck.Ratio()) {
		t.Errorf("without responses: %+v, %v", stuck, err)
	}
	p, theta := stragglers(samples, 1, 1)
	expect.That(t, math.IsNaN(p) && math.IsNaN(theta), "without rounds p_max = %g, Theta_max = %g, want NaN", p, theta)
	rough := *k
	rough.Mu = 0
	if s, err := rough.Study(samples, 1, 0); err != nil || s.Corollary != nil {
		t.Errorf("losses that are not smooth: corollary %v, %v", s.Corollary, err)
	} else if _, ok := s.Bound.(Lipschitz); !ok {
		t.Errorf("losses that are not smooth have %T", s.Bound)
	}
	rough.L = math.Inf(1)
	if _, err := rough.Study(samples, 1, 0); err == nil {
		t.Error("losses that are neither smooth nor Lipschitz have a bound")
	}
	if _, err := k.Study(nil, 1, 0); err == nil {
		t.Error("no run at all has a bound")
	}
}
