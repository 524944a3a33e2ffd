package federation

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fedsim/internal/state"
	"fedsim/results"
)

// replayLog records the answers of a run's method, in order: the size of each message,
// the work of each device, which responses the server took. Events depend on nothing
// else of the method. So a checkpoint is the replay log and the state of the method: a
// resumed run replays its events by the log, without any computation, and then continues
// with the saved method.
type replayLog struct {
	words     varints
	replaying bool            // answers come from the log
	rounds    []results.Round // rounds to replay, after round 0
	err       error           // why they cannot be replayed
}

// ErrMismatch is the error of a run that is resumed from the checkpoint of another run.
var ErrMismatch = errors.New("the checkpoint is of another run: of another scenario, or another version of fedsim")

// recorded returns an answer of the method, which it asks and records, or replays.
func (f *Federation) recorded(ask func() uint64) uint64 {
	log := f.log
	switch {
	case log == nil:
		return ask()
	case !log.replaying:
		word := ask()
		log.words.add(word)
		return word
	default:
		word, ok := log.words.next()
		f.checkLog(ok)
		return word
	}
}

// checkLog ends the replay, at the end of the round, unless an answer is valid.
func (f *Federation) checkLog(valid bool) bool {
	if !valid && f.replaying() {
		f.log.err = ErrMismatch
		return false
	}
	return true
}

// recordedFloat is recorded for an amount that is not negative. Most amounts are whole
// and not large: the low bytes of their bits are zero, and the log stores few bytes.
func (f *Federation) recordedFloat(ask func() float64) float64 {
	word := f.recorded(func() uint64 { return bits.ReverseBytes64(math.Float64bits(ask())) })
	x := math.Float64frombits(bits.ReverseBytes64(word))
	if !f.checkLog(x >= 0 && x <= math.MaxFloat64) {
		return 0
	}
	return x
}

// mostCounted limits counts: those of bytes are exact as floats.
const mostCounted = 1 << 53

// recordedCount is recorded for a count.
func (f *Federation) recordedCount(ask func() int) int {
	n := int(f.recorded(func() uint64 { return uint64(ask()) }))
	if !f.checkLog(n >= 0 && int64(n) <= mostCounted) {
		return 0
	}
	return n
}

// replaying reports whether answers come from the log.
func (f *Federation) replaying() bool { return f.log != nil && f.log.replaying }

// Replaying reports whether a resumed run still replays the rounds of its checkpoint.
func (f *Federation) Replaying() bool { return f.replaying() }

// beginRound opens a round of the method and returns how many numbers it sends.
func (f *Federation) beginRound() int {
	return f.recordedCount(func() int {
		var err error
		f.open.sent, err = f.method.Begin()
		f.fail(err)
		return f.open.sent.Size
	})
}

// endRound closes a round of the method and returns the server's work.
func (f *Federation) endRound() float64 {
	return f.recordedFloat(func() float64 {
		flops, err := f.method.End()
		f.fail(err)
		return flops
	})
}

// commit makes the work of device t final.
func (f *Federation) commit(t int) {
	if f.replaying() {
		return
	}
	f.refuseNonFinite(t)
	f.method.Commit(t, f.weight(t))
	f.countCapped(t)
}

// weight returns the factor of the update of device t.
func (f *Federation) weight(t int) float64 {
	factor := f.lateFactor(t)
	if f.weigher == nil {
		return factor
	}
	return factor * f.weigher.Weight(&f.open, t)
}

// countCapped counts an update of capped work that the server has taken.
func (f *Federation) countCapped(t int) {
	if f.count.capped != nil && f.count.capped[t] {
		f.count.taken++
	}
}

// discard discards the work of device t.
func (f *Federation) discard(t int) {
	if !f.replaying() {
		f.method.Discard(t)
	}
}

// sendModel sends device t the present model and returns how many numbers that is.
func (f *Federation) sendModel(t int) int {
	return f.recordedCount(func() int {
		size, err := f.method.Asynchronous.Send(t)
		f.fail(err)
		return size
	})
}

// receive gives the response of device t to the method.
func (f *Federation) receive(t int) (taken bool, flops float64) {
	took := f.recorded(func() uint64 {
		var err error
		taken, flops, err = f.method.Asynchronous.Receive(t)
		f.fail(err)
		if taken {
			f.refuseNonFinite(t)
			f.countCapped(t)
			return 1
		}
		return 0
	})
	return took == 1, f.recordedFloat(func() float64 { return flops })
}

// recordWork records or replays the work of those devices listed that have done it.
func (f *Federation) recordWork(listed []int32) {
	if f.log == nil {
		return
	}
	for _, t := range listed {
		d := &f.devices[t]
		if !d.solved {
			continue
		}
		flops, bytes := f.clients.Work(int(t))
		flops = f.recordedFloat(func() float64 { return flops })
		d.steps = int32(f.recordedCount(func() int { return int(d.steps) }))
		bytes = f.recordedFloat(func() float64 { return bytes })
		f.clients.SetWork(int(t), flops, bytes)
	}
}

// Save saves a checkpoint: the rounds so far, the replay log, which work was capped, the
// coupling if it was updated, and the state of the method. It is for the end of a round
// of a run with Setup.Checkpoint, whose method has Description.State.
func (f *Federation) Save(c *state.Coder) {
	if f.method.Stateful == nil {
		c.Fail(fmt.Errorf("method %s has no checkpoints: its description has no state", f.methodName()))
		return
	}
	f.codeState(c)
}

// resume reads a checkpoint. The run replays its log first.
func (f *Federation) resume(c *state.Coder) error {
	f.codeState(c)
	if err := c.Err(); err != nil {
		return fmt.Errorf("resuming a run: %w", err)
	}
	if len(f.log.rounds) == 0 || !f.declares(f.log.rounds) {
		return ErrMismatch
	}
	f.log.replaying = len(f.log.rounds) > 1
	return nil
}

// codeState writes or reads a checkpoint. Reading builds a new method.
func (f *Federation) codeState(c *state.Coder) {
	rounds := len(f.log.rounds)
	c.Int(&rounds)
	if c.Reads() {
		f.log.rounds = nil
	}
	for h := range rounds {
		if c.Err() != nil {
			return
		}
		if c.Reads() {
			f.log.rounds = append(f.log.rounds, results.Round{})
		}
		f.log.rounds[h].State(c)
	}
	f.log.words.state(c)
	c.Int(&f.count.taken)
	c.Bools(f.count.capped)
	c.Uint64(&f.hash)
	f.codeCoupling(c)
	if c.Err() != nil {
		return
	}
	if c.Reads() {
		if err := f.restart(); err != nil {
			c.Fail(err)
			return
		}
	}
	f.method.Stateful.State(c)
}

// codeCoupling writes or reads the coupling, if it was updated.
func (f *Federation) codeCoupling(c *state.Coder) {
	updated := 0
	if f.coupling != f.setup.Coupling {
		updated = 1
	}
	if c.Int(&updated); updated == 0 || c.Err() != nil {
		return
	}
	if f.setup.Problem == nil {
		c.Fail(ErrMismatch)
		return
	}
	f.coupling = f.setup.Problem.CouplingState(c, f.setup.Pool, f.coupling)
}

// restart builds a new method under the present coupling.
func (f *Federation) restart() error {
	method, err := f.setup.newMethod(f.coupling)
	if err != nil {
		return err
	}
	if method.Stateful == nil {
		return ErrMismatch
	}
	f.method = method
	return nil
}

// checkReplayed returns the round of the checkpoint that was just replayed, if the replay
// is equal to it. After the last one the method answers again.
func (f *Federation) checkReplayed(r results.Round) (results.Round, error) {
	log := f.log
	if log.err != nil {
		return r, log.err
	}
	saved := log.rounds[f.round]
	if !results.SameMeasures(results.RoundColumns, &saved, &r) {
		return r, ErrMismatch
	}
	if f.round == len(log.rounds)-1 {
		if !log.words.over() {
			return r, ErrMismatch
		}
		log.replaying = false
	}
	return saved, nil
}
