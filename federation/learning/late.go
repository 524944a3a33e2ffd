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
	apart       []float64 // by late update, for KeepREFL: the squared distance from the mean of those in time
	factor      []float64 // by device
}

// checkLateWeights reports methods that cannot give late updates the weights of the rule.
func (f *Federation) checkLateWeights(c *config.Checker) {
	rule := f.setup.Config.Late
	if !weighs(rule) || !f.learns() {
		return
	}
	about := &f.method.About
	able := about.Weights == algorithms.Yes
	c.Require(able, "federation.late", rule,
		fmt.Sprintf("must be \"keep\" or \"drop\": %s cannot give updates weights", f.methodName()))
	if able && rule == federation.KeepREFL {
		c.Require(about.Compared, "federation.late", rule,
			fmt.Sprintf("must be another: %s does not compare updates", f.methodName()))
	}
}

// weighs reports whether a rule gives late updates factors.
func weighs(late string) bool { return late == federation.KeepDamped || late == federation.KeepREFL }

// beta is the weight of the distance in the factor of a late update (REFL, EuroSys 2023, section 4.2).
const beta = 0.35

// weigh gives the late updates that the round takes their factors.
func (l *lateUpdates) weigh(f *Federation) {
	cfg := &f.setup.Config
	if !weighs(cfg.Late) || !f.learns() {
		return
	}
	l.fresh, l.late = l.fresh[:0], l.late[:0]
	for _, client := range f.server.Listed() {
		switch {
		case !f.server.Takes(int(client)):
		case f.server.CurrentRound().Staleness(int(client)) == 0:
			l.fresh = append(l.fresh, client)
		default:
			l.late = append(l.late, client)
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
	if cfg.Late == federation.KeepREFL && len(l.fresh) > 0 {
		algorithms.Deviations(f.method.Inspected, l.fresh, l.late, l.apart)
		for _, d := range l.apart {
			largest = max(largest, d)
		}
	}
	for i, client := range l.late {
		factor := 1 / float64(f.server.CurrentRound().Staleness(int(client))+1)
		if cfg.Late == federation.KeepREFL {
			boost := 0.0
			if largest > 0 {
				boost = 1 - elementary.Exp(-l.apart[i]/largest)
			}
			factor = float64((1-beta)*factor) + float64(beta*boost)
		}
		l.factor[client] = factor
	}
}

// factorOf returns the factor of an update that the round takes: 1 if it is in time.
func (l *lateUpdates) factorOf(f *Federation, client int) float64 {
	if l.factor == nil || f.server.CurrentRound().Staleness(client) == 0 {
		return 1
	}
	return l.factor[client]
}
