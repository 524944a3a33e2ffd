package theory

import (
	"fmt"
	"math"
)

// Sample is one run of a W update from alpha = 0.
type Sample struct {
	Gaps   []float64   // D(alpha^h) - D* for h = 0, 1, ...
	Thetas [][]float64 // theta_t^h by round, then device: Thetas[h] leads from Gaps[h] to Gaps[h+1]
}

// Study compares runs that differ in their seeds with a theorem.
type Study struct {
	*Constants
	PMax, ThetaMax float64 // of Assumption 2, measured
	ThetaBar       float64
	Target         float64 // epsilon_D
	Bound          Bound   // Theorem 1's when the losses are smooth, else Theorem 2's
	H              float64 // rounds that the theorem asks for
	Measured       int     // first round whose mean D - D* is at most Target; -1: none is
	// By round, as far as all runs go:
	Mean, Low, High []float64 // D - D* over the runs
	Curve           []float64 // of Bound
	// Corollary is the curve of Asymptotic for the largest mean theta over the
	// devices of each round; nil when the losses are not smooth.
	Corollary []float64
}

// Study compares samples with Theorem 1, or Theorem 2 for losses that are not
// smooth. pMax and thetaMax are the constants of Assumption 2. It fails when the
// losses are neither, or when there is no sample.
func (k *Constants) Study(samples []Sample, pMax, thetaMax, target float64) (*Study, error) {
	if len(samples) == 0 {
		return nil, fmt.Errorf("there is no run to compare with the bound")
	}
	s := &Study{
		Constants: k, PMax: pMax, ThetaMax: thetaMax, ThetaBar: ThetaBar(pMax, thetaMax),
		Target: target, Measured: -1,
	}
	if math.IsNaN(thetaMax) { // nobody ever made progress
		s.ThetaBar = 1
	}
	switch {
	case k.Mu > 0:
		s.Bound = k.Smooth(s.ThetaBar)
	case !math.IsInf(k.L, 1):
		s.Bound = k.Lipschitz(s.ThetaBar)
	default:
		return nil, fmt.Errorf("the losses are neither smooth nor Lipschitz: no theorem holds for them")
	}
	s.H = s.Bound.Rounds(target)
	s.measure(samples)
	s.Curve = s.Bound.Curve(len(s.Mean) - 1)
	if k.Mu > 0 {
		s.Corollary = k.Asymptotic(worst(samples, len(s.Mean)-1))
	}
	return s, nil
}

// measure fills in what the samples have in common.
func (s *Study) measure(samples []Sample) {
	rounds := len(samples[0].Gaps)
	for _, x := range samples {
		rounds = min(rounds, len(x.Gaps))
	}
	s.Mean, s.Low, s.High = make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
	for h := range rounds {
		low, high, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, x := range samples {
			low, high = math.Min(low, x.Gaps[h]), math.Max(high, x.Gaps[h])
			sum += x.Gaps[h]
		}
		s.Low[h], s.High[h], s.Mean[h] = low, high, sum/float64(len(samples))
		if s.Measured < 0 && s.Mean[h] <= s.Target {
			s.Measured = h
		}
	}
}

// worst returns, for each of the first rounds, the largest over the devices of
// theta's mean over the samples.
func worst(samples []Sample, rounds int) []float64 {
	largest := make([]float64, rounds)
	for h := range largest {
		for t := range samples[0].Thetas[h] {
			sum := 0.0
			for _, x := range samples {
				sum += x.Thetas[h][t]
			}
			largest[h] = math.Max(largest[h], sum/float64(len(samples)))
		}
	}
	return largest
}

// Ratio returns measured rounds / bound, NaN when the target was not reached.
func (s *Study) Ratio() float64 {
	if s.Measured < 0 {
		return math.NaN()
	}
	return float64(s.Measured) / s.H
}

// Broken returns the first round in which the measured mean is above the curve
// of the bound, or ok = true when there is none.
func (s *Study) Broken() (round int, ok bool) {
	for h, mean := range s.Mean {
		if mean > s.Curve[h] {
			return h, false
		}
	}
	return 0, true
}
