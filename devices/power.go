package devices

import (
	"fmt"

	"fedsim/engine"
)

// PowerSequence is the power that a device draws from some instant on: that of each stage
// for as long as it lasts, one after another, then Watts for good.
type PowerSequence struct {
	Stages [MaxStages]Stage
	Watts  float64
}

// MaxStages is how many changes of its power a load knows beforehand: a radio has
// no more than two tail states.
const MaxStages = 2

// Stage is a part of a load; one of Length 0 is not there.
type Stage struct {
	Length engine.Time
	Watts  float64
}

// plan is what is to come of a load: at at[0] the power becomes watts[0], at at[1]
// watts[1]. Never: it does not.
type plan struct {
	at    [MaxStages]engine.Time
	watts [MaxStages]float64
}

// constant is the plan of a load that does not change.
var constant = plan{at: [MaxStages]engine.Time{engine.Never, engine.Never}}

// plan returns the power with which a load begins at now, and what is to come.
func (l *PowerSequence) plan(now engine.Time) (watts float64, p plan) {
	watts, p = l.Watts, constant
	n, end := 0, now
	for _, s := range l.Stages {
		switch {
		case s.Length == 0:
			continue
		case !(s.Watts >= 0):
			panic(fmt.Sprintf("devices: a stage draws %g W: must be a number, not negative", s.Watts))
		case n == 0:
			watts = s.Watts
		default:
			p.watts[n-1] = s.Watts
		}
		end = end.Add(s.Length)
		p.at[n], p.watts[n] = end, l.Watts
		n++
	}
	return watts, p
}

// pop passes to the next power of a plan.
func (p *plan) pop() (watts float64) {
	watts = p.watts[0]
	p.at = [MaxStages]engine.Time{p.at[1], engine.Never}
	p.watts[0] = p.watts[1]
	return watts
}
