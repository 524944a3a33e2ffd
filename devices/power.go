package devices

import (
	"fmt"

	"fedsim/engine"
)

// PowerSequence is the power that a device draws from an instant on: the stages one
// after another, then Watts.
type PowerSequence struct {
	Stages [MaxStages]Stage
	Watts  float64
}

// MaxStages is the largest number of stages: a radio has at most two tail states.
const MaxStages = 2

// Stage is a part of a power sequence. A stage of Length 0 is skipped.
type Stage struct {
	Length engine.Time
	Watts  float64
}

// powerChanges are the changes of power ahead: to watts[0] at at[0], then to watts[1] at
// at[1]. An instant of Never means no change.
type powerChanges struct {
	at    [MaxStages]engine.Time
	watts [MaxStages]float64
}

// noChanges is the value for a constant power.
var noChanges = powerChanges{at: [MaxStages]engine.Time{engine.Never, engine.Never}}

// start returns the power of a sequence at now and its changes ahead.
func (ps *PowerSequence) start(now engine.Time) (watts float64, p powerChanges) {
	watts, p = ps.Watts, noChanges
	n, end := 0, now
	for _, s := range ps.Stages {
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
		p.at[n], p.watts[n] = end, ps.Watts
		n++
	}
	return watts, p
}

// pop removes the first change and returns its power.
func (p *powerChanges) pop() (watts float64) {
	watts = p.watts[0]
	p.at = [MaxStages]engine.Time{p.at[1], engine.Never}
	p.watts[0] = p.watts[1]
	return watts
}
