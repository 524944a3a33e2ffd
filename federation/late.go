package federation

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/elementary"
)

// The rules of federation.late_weights.
const (
	lateEqual   = "equal"
	lateInverse = "inverse"
	lateREFL    = "refl"
)

// lateUpdates are the late updates that a round takes, beside those in time.
type lateUpdates struct {
	fresh, late []int32
	apart       []float64 // by late update, for "refl": the squared distance from the mean of those in time
	factor      []float64 // by device
}

// checkLateWeights reports methods that cannot give late updates the weights of the rule.
func (f *Federation) checkLateWeights(c *config.Checker) {
	rule := f.setup.Config.LateWeights
	c.Require(rule == lateEqual || f.setup.session == nil, "federation.late_weights", rule, "must be left out: the program that drives fedsim averages updates itself")
	if rule == lateEqual || !f.learns() {
		return
	}
	about := &f.method.About
	able := about.Weights == algorithms.Yes
	c.Require(able, "federation.late_weights", rule, fmt.Sprintf("must be left out: %s cannot give updates weights", f.methodName()))
	if able && rule == lateREFL {
		c.Require(about.Compared, "federation.late_weights", rule, fmt.Sprintf("must be another: %s does not compare updates", f.methodName()))
	}
}

// weighLate gives the late updates that the round takes their factors.
func (f *Federation) weighLate(all []int32) {
	cfg, l := &f.setup.Config, &f.late
	if cfg.LateWeights == lateEqual || !f.learns() {
		return
	}
	l.fresh, l.late = l.fresh[:0], l.late[:0]
	for _, t := range all {
		switch {
		case !f.takes(int(t)):
		case f.open.Staleness(int(t)) == 0:
			l.fresh = append(l.fresh, t)
		default:
			l.late = append(l.late, t)
		}
	}
	if len(l.late) == 0 {
		return
	}
	if l.factor == nil {
		l.factor = make([]float64, len(f.devices))
	}
	largest := 0.0
	l.apart = append(l.apart[:0], make([]float64, len(l.late))...)
	if cfg.LateWeights == lateREFL && len(l.fresh) > 0 {
		algorithms.Deviations(f.method.Inspected, l.fresh, l.late, l.apart)
		for _, d := range l.apart {
			largest = max(largest, d)
		}
	}
	for i, t := range l.late {
		factor := 1 / float64(f.open.Staleness(int(t))+1)
		if cfg.LateWeights == lateREFL {
			boost := 0.0
			if largest > 0 {
				boost = 1 - elementary.Exp(-l.apart[i]/largest)
			}
			factor = float64((1-cfg.LateBeta)*factor) + float64(cfg.LateBeta*boost)
		}
		l.factor[t] = factor
	}
}

// lateFactor returns the factor of an update that the round takes: 1 if it is in time.
func (f *Federation) lateFactor(t int) float64 {
	if f.late.factor == nil || f.open.Staleness(t) == 0 {
		return 1
	}
	return f.late.factor[t]
}
