package learning

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/tools/elementary"
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
	if rule == federation.LateEqual || !f.learns() {
		return
	}
	about := &f.method.About
	able := about.Weights == algorithms.Yes
	c.Require(able, "federation.late_weights", rule, fmt.Sprintf("must be left out: %s cannot give updates weights", f.methodName()))
	if able && rule == federation.LateREFL {
		c.Require(about.Compared, "federation.late_weights", rule, fmt.Sprintf("must be another: %s does not compare updates", f.methodName()))
	}
}

// weigh gives the late updates that the round takes their factors.
func (l *lateUpdates) weigh(f *Federation) {
	cfg := &f.setup.Config
	if cfg.LateWeights == federation.LateEqual || !f.learns() {
		return
	}
	l.fresh, l.late = l.fresh[:0], l.late[:0]
	for _, t := range f.server.Listed() {
		switch {
		case !f.server.Takes(int(t)):
		case f.server.CurrentRound().Staleness(int(t)) == 0:
			l.fresh = append(l.fresh, t)
		default:
			l.late = append(l.late, t)
		}
	}
	if len(l.late) == 0 {
		return
	}
	if l.factor == nil {
		l.factor = make([]float64, f.setup.Clients)
	}
	largest := 0.0
	l.apart = append(l.apart[:0], make([]float64, len(l.late))...)
	if cfg.LateWeights == federation.LateREFL && len(l.fresh) > 0 {
		algorithms.Deviations(f.method.Inspected, l.fresh, l.late, l.apart)
		for _, d := range l.apart {
			largest = max(largest, d)
		}
	}
	for i, t := range l.late {
		factor := 1 / float64(f.server.CurrentRound().Staleness(int(t))+1)
		if cfg.LateWeights == federation.LateREFL {
			boost := 0.0
			if largest > 0 {
				boost = 1 - elementary.Exp(-l.apart[i]/largest)
			}
			factor = float64((1-cfg.LateBeta)*factor) + float64(cfg.LateBeta*boost)
		}
		l.factor[t] = factor
	}
}

// factorOf returns the factor of an update that the round takes: 1 if it is in time.
func (l *lateUpdates) factorOf(f *Federation, t int) float64 {
	if l.factor == nil || f.server.CurrentRound().Staleness(t) == 0 {
		return 1
	}
	return l.factor[t]
}
