package algorithms

import (
	"math"

	"fedsim/config"
)

// Workload is the local work of a method where it is known without doing it: it
// depends on how many rows a device has and on what it is allowed, not on what
// the rows say.
type Workload struct {
	StepFLOPs float64                     // the most that one step can take
	Steps     func(rows, allowed int) int // steps of a device with so many rows
	Extra     int                         // numbers that a device sends beyond one for each feature
}

// epochs returns the steps of that many passes over so many rows, at most as many as
// a budget can have.
func epochs(passes float64, rows int) int {
	return int(min(math.MaxInt32, math.Ceil(passes*float64(rows))))
}

// timingOnly is a method of which only the work is done justice to: devices take as
// long, and send as much, as if they computed, and nothing is learnt. Every step
// is taken for one that moves its coordinate.
type timingOnly struct {
	workload Workload
	rows     []int32 // by device
	features int
}

var _ Reporter = (*timingOnly)(nil)

// timingOnlyAsynchronous is a timingOnly whose method can do without rounds. No answer is
// refused: which would be is not known.
type timingOnlyAsynchronous struct{ *timingOnly }

var _ Asynchronous = timingOnlyAsynchronous{}

// Send returns how many numbers the device is sent.
func (t timingOnlyAsynchronous) Send(int) int { return t.features }

// Receive takes the answer.
func (t timingOnlyAsynchronous) Receive(int) (taken bool, flops float64) { return true, 0 }

// NewTimingOnly returns the method of a factory with the given options on devices
// with so many rows of d features: a *timingOnly, or one that is Asynchronous when the
// method is. It fails with a config.Problem when the method's work depends on what
// the rows say.
func NewTimingOnly(f Factory, o Options, rows []int32, features int) (Algorithm, error) {
	if f.Workload == nil {
		return nil, config.Problem{Key: "run.mode", Value: "timing", Want: "must be \"learning\": how long " + f.Name + " computes depends on what it learns"}
	}
	t := &timingOnly{workload: f.Workload(o, features), rows: rows, features: features}
	if f.Asynchronous {
		return timingOnlyAsynchronous{t}, nil
	}
	return t, nil
}

// StepFLOPs returns the cost of a step.
func (t *timingOnly) StepFLOPs() float64 { return t.workload.StepFLOPs }

// Begin returns how many numbers each device is sent.
func (t *timingOnly) Begin() int { return t.features }

// Solve returns what the local work would take.
func (t *timingOnly) Solve(r Request) Work {
	steps := t.workload.Steps(int(t.rows[r.Device]), r.Steps)
	return Work{Steps: steps, FLOPs: float64(steps) * t.workload.StepFLOPs, Values: t.features + t.workload.Extra}
}

// Commit does nothing.
func (t *timingOnly) Commit(int) {}

// Discard does nothing.
func (t *timingOnly) Discard(int) {}

// End returns 0: what the server would compute is not known.
func (t *timingOnly) End() float64 { return 0 }

// Metrics returns that nothing is known of the model.
func (t *timingOnly) Metrics() Metrics { return Unknown() }

// Hash returns 0, the hash of no model.
func (t *timingOnly) Hash() uint64 { return 0 }
