package theory

import (
	"fmt"
	"math"
)

// Trajectory is the record of one W update from alpha = 0.
type Trajectory struct {
	Gaps   []float64   // D(alpha^h) - D* for h = 0, 1, ...
	Thetas [][]float64 // theta_t^h by round, then device: Thetas[h] leads from Gaps[h] to Gaps[h+1]
}

// Study compares runs that differ in their seeds with a theorem.
type Study struct {
	*Constants
	// Constants of Assumption 2, measured in the rounds that start above the target. Later
	// rounds are excluded: theta of a solved subproblem is not meaningful.
	PMax, ThetaMax, ThetaBar float64
	// The same in the later half of those rounds, in place of the limits superior of
	// corollary asym.
	LaterPMax, LaterThetaMax float64
	Target                   float64 // epsilon_D
	Bound                    Bound   // Theorem 1's when the losses are smooth, else Theorem 2's
	H                        float64 // rounds by the theorem
	Measured                 int     // first round whose mean D - D* is at most Target; -1: none
	// By round, for the rounds that all runs have:
	Mean, Low, High []float64 // D - D* over the runs
	Slack           float64   // allowed excess over a bound
	Curve           []float64 // of Bound
	// Corollary is the curve of Asymptotic for the largest mean theta over the
	// devices of each round; nil when the losses are not smooth.
	Corollary []float64
}

// Study compares runs with Theorem 1, or Theorem 2 for losses that are not
// smooth. slack bounds the part of the gaps that comes from the uncertainty of D* and from
// rounding. Study fails when the losses are neither smooth nor Lipschitz, and without runs.
func (c *Constants) Study(runs []Trajectory, target, slack float64) (*Study, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("there is no run to compare with the bound")
	}
	s := &Study{Constants: c, Target: target, Slack: slack, Measured: -1}
	s.measure(runs)
	rounds := len(s.Mean) - 1
	if s.Measured >= 0 {
		rounds = s.Measured
	}
	s.PMax, s.ThetaMax = stragglers(runs, 0, rounds)
	s.LaterPMax, s.LaterThetaMax = stragglers(runs, rounds/2, rounds)
	s.ThetaBar = ThetaBar(s.PMax, s.ThetaMax)
	if math.IsNaN(s.ThetaBar) { // no progress, or no rounds
		s.ThetaBar = 1
	}
	switch {
	case c.Mu > 0:
		s.Bound = c.Smooth(s.ThetaBar)
	case !math.IsInf(c.L, 1):
		s.Bound = c.Lipschitz(s.ThetaBar)
	default:
		return nil, fmt.Errorf("the losses are neither smooth nor Lipschitz: no theorem holds for them")
	}
	s.H = s.Bound.Rounds(target)
	s.Curve = s.Bound.Curve(len(s.Mean) - 1)
	if c.Mu > 0 {
		s.Corollary = c.Asymptotic(worst(runs, len(s.Mean)-1))
	}
	return s, nil
}

// stragglers returns the empirical constants of Assumption 2 in the rounds from,
// ..., to-1 of the runs: pMax, the largest share over the devices of rounds with
// theta = 1 (or more), and thetaMax, the largest mean over the devices of the
// theta of their other rounds. Both are NaN without rounds, thetaMax also when
// no device ever made progress.
func stragglers(runs []Trajectory, from, to int) (pMax, thetaMax float64) {
	pMax, thetaMax = math.NaN(), math.NaN()
	if to <= from {
		return pMax, thetaMax
	}
	for client := range runs[0].Thetas[from] {
		stuck, moved, sum := 0.0, 0.0, 0.0
		for _, s := range runs {
			for _, thetas := range s.Thetas[from:to] {
				if thetas[client] >= 1 {
					stuck++
				} else {
					moved++
					sum += thetas[client]
				}
			}
		}
		if share := stuck / (stuck + moved); !(pMax >= share) {
			pMax = share
		}
		if mean := sum / moved; moved > 0 && !(thetaMax >= mean) {
			thetaMax = mean
		}
	}
	return pMax, thetaMax
}

// measure computes mean, lowest and highest gap by round.
func (s *Study) measure(runs []Trajectory) {
	rounds := len(runs[0].Gaps)
	for _, x := range runs {
		rounds = min(rounds, len(x.Gaps))
	}
	s.Mean, s.Low, s.High = make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
	for h := range rounds {
		low, high, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, x := range runs {
			low, high = math.Min(low, x.Gaps[h]), math.Max(high, x.Gaps[h])
			sum += x.Gaps[h]
		}
		s.Low[h], s.High[h], s.Mean[h] = low, high, sum/float64(len(runs))
		if s.Measured < 0 && s.Mean[h] <= s.Target {
			s.Measured = h
		}
	}
}

// worst returns, for each of the first rounds, the largest over the devices of
// the mean theta over the runs.
func worst(runs []Trajectory, rounds int) []float64 {
	largest := make([]float64, rounds)
	for h := range largest {
		for client := range runs[0].Thetas[h] {
			sum := 0.0
			for _, x := range runs {
				sum += x.Thetas[h][client]
			}
			largest[h] = math.Max(largest[h], sum/float64(len(runs)))
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

// Violation returns the first round whose measured mean minus the slack exceeds the curve of
// the bound or of the corollary, and that bound; ok is true when there is none.
func (s *Study) Violation() (round int, bound float64, ok bool) {
	for h, mean := range s.Mean {
		bound := s.Curve[h]
		if s.Corollary != nil {
			bound = math.Min(bound, s.Corollary[h])
		}
		if mean-s.Slack > bound {
			return h, bound, false
		}
	}
	return 0, 0, true
}
