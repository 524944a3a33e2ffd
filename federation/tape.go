package federation

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fedsim/algorithms"
	"fedsim/internal/state"
	"fedsim/results"
)

// tape is what the mathematics of a run has told its time, in order: what a method
// would send, the work of every solve, which answers it took. Mathematics does not
// see time, and time sees nothing else of it. So a run is kept as its tape and the
// state of its method: going on, time is gone through again by the tape, without
// any mathematics, and then the method is as it was.
type tape struct {
	words   words
	playing bool            // the method is not asked
	rounds  []results.Round // the rounds that are gone through again, round 0 before them
	torn    error           // why they cannot be
}

// ErrOther is the error of a run that is gone on with where something else was kept.
var ErrOther = errors.New("what was kept is of another run: of another scenario, or another version of fedsim")

// told returns what the method tells, asking it or the tape.
func (f *Federation) told(ask func() uint64) uint64 {
	tp := f.tape
	switch {
	case tp == nil:
		return ask()
	case !tp.playing:
		word := ask()
		tp.words.add(word)
		return word
	default:
		word, ok := tp.words.next()
		f.believe(ok)
		return word
	}
}

// believe tears the tape, at the end of the round, unless what it tells can be true.
func (f *Federation) believe(can bool) bool {
	if !can && f.playing() {
		f.tape.torn = ErrOther
		return false
	}
	return true
}

// toldFloat is told for an amount of work. Most are whole and not large, so that the
// bytes of their bits are zero from the last on.
func (f *Federation) toldFloat(ask func() float64) float64 {
	word := f.told(func() uint64 { return bits.ReverseBytes64(math.Float64bits(ask())) })
	x := math.Float64frombits(bits.ReverseBytes64(word))
	if !f.believe(x >= 0 && x <= math.MaxFloat64) {
		return 0
	}
	return x
}

// toldCount is told for a number that is not negative.
func (f *Federation) toldCount(ask func() int) int {
	n := int(f.told(func() uint64 { return uint64(ask()) }))
	if !f.believe(n >= 0 && n <= math.MaxInt32) {
		return 0
	}
	return n
}

// playing reports whether the method rests, and the tape is played.
func (f *Federation) playing() bool { return f.tape != nil && f.tape.playing }

// Replaying reports whether the rounds of now are those that a resumed run had made.
func (f *Federation) Replaying() bool { return f.playing() }

// begin opens a round of the method and returns how many numbers it sends.
func (f *Federation) begin() int {
	return f.toldCount(f.method.Begin)
}

// finish closes a round of the method and returns the server's work.
func (f *Federation) finish() float64 {
	return f.toldFloat(f.method.End)
}

// commit makes the work of device t final.
func (f *Federation) commit(t int) {
	if f.playing() {
		return
	}
	if weight := f.weight(t); weight == 1 {
		f.method.Commit(t)
	} else {
		f.method.(algorithms.Weighted).CommitWeighted(t, weight)
	}
	f.countCapped(t)
}

// weight returns the factor of the update of device t.
func (f *Federation) weight(t int) float64 {
	if f.weigher == nil {
		return 1
	}
	return f.weigher.Weight(&f.open, t)
}

// countCapped counts an update of capped work that the server has taken.
func (f *Federation) countCapped(t int) {
	if f.short != nil && f.short[t] {
		f.capped++
	}
}

// discard forgets the work of device t.
func (f *Federation) discard(t int) {
	if !f.playing() {
		f.method.Discard(t)
	}
}

// sendModel fixes what device t is sent and returns how many numbers that is.
func (f *Federation) sendModel(t int) int {
	return f.toldCount(func() int { return f.server.Send(t) })
}

// receive lets the method have the answer of device t.
func (f *Federation) receive(t int) (taken bool, flops float64) {
	took := f.told(func() uint64 {
		taken, flops = f.server.Receive(t)
		if taken {
			f.countCapped(t)
			return 1
		}
		return 0
	})
	return took == 1, f.toldFloat(func() float64 { return flops })
}

// worked puts the work of those of the devices listed that were solved on the
// tape, or takes it from there.
func (f *Federation) worked(listed []int32) {
	if f.tape == nil {
		return
	}
	for _, t := range listed {
		d := &f.devices[t]
		if !d.solved {
			continue
		}
		flops, bytes := f.clients.Work(int(t))
		flops = f.toldFloat(func() float64 { return flops })
		d.steps = int32(f.toldCount(func() int { return int(d.steps) }))
		bytes = f.toldFloat(func() float64 { return bytes })
		f.clients.SetWork(int(t), flops, bytes)
	}
}

// Keep saves a run: the rounds so far, the tape, which work
// was capped, the coupling once it was updated, and the state of the method. It is for the end of a
// round, of a run whose Setup.Keep is set; its method must be algorithms.Stateful.
func (f *Federation) Keep(c *state.Coder) {
	stateful, ok := f.method.(algorithms.Stateful)
	if !ok {
		c.Fail(fmt.Errorf("method %s cannot be kept: it does not name its state", f.setup.Factory.Name))
		return
	}
	f.code(c, stateful)
}

// resume takes what was kept: the tape, which is played first, and the method as it
// was behind it.
func (f *Federation) resume(c *state.Coder) error {
	f.code(c, nil)
	if err := c.Err(); err != nil {
		return fmt.Errorf("going on with a run that was kept: %w", err)
	}
	if len(f.tape.rounds) == 0 {
		return ErrOther
	}
	f.tape.playing = len(f.tape.rounds) > 1
	return nil
}

// code names what is kept. When it is read the method is made anew.
func (f *Federation) code(c *state.Coder, method algorithms.Stateful) {
	rounds := len(f.tape.rounds)
	c.Int(&rounds)
	if c.Reads() {
		f.tape.rounds = nil
	}
	for h := range rounds {
		if c.Err() != nil {
			return
		}
		if c.Reads() {
			f.tape.rounds = append(f.tape.rounds, results.Round{})
		}
		f.tape.rounds[h].State(c)
	}
	f.tape.words.state(c)
	c.Int(&f.capped)
	c.Bools(f.short)
	f.codeCoupling(c)
	if c.Err() != nil {
		return
	}
	if c.Reads() {
		var err error
		if method, err = f.restart(); err != nil {
			c.Fail(err)
			return
		}
	}
	method.State(c)
}

// codeCoupling names the coupling when it is not the first one any more.
func (f *Federation) codeCoupling(c *state.Coder) {
	updated := 0
	if f.coupling != f.setup.Coupling {
		updated = 1
	}
	if c.Int(&updated); updated == 0 || c.Err() != nil {
		return
	}
	if f.setup.Problem == nil {
		c.Fail(ErrOther)
		return
	}
	f.coupling = f.setup.Problem.CouplingState(c, f.setup.Pool, f.coupling)
}

// restart makes the method anew under the present coupling.
func (f *Federation) restart() (algorithms.Stateful, error) {
	method, err := f.setup.newMethod(f.coupling)
	if err != nil {
		return nil, err
	}
	stateful, ok := method.(algorithms.Stateful)
	if !ok {
		return nil, ErrOther
	}
	f.method = method
	return stateful, nil
}

// again returns the figures of the round that was just gone through again, which
// must be those that were kept. Behind the last the method goes on.
func (f *Federation) again(r results.Round) (results.Round, error) {
	tp := f.tape
	if tp.torn != nil {
		return r, tp.torn
	}
	kept := tp.rounds[f.round]
	same := kept.Round == r.Round && kept.Outer == r.Outer && kept.Participants == r.Participants && kept.Dropped == r.Dropped && kept.Late == r.Late
	for _, x := range [...][2]float64{{kept.TimeS, r.TimeS}, {kept.FLOPs, r.FLOPs}, {kept.BytesDown, r.BytesDown}, {kept.BytesUp, r.BytesUp}, {kept.EnergyJ, r.EnergyJ}} {
		same = same && math.Float64bits(x[0]) == math.Float64bits(x[1])
	}
	if !same {
		return r, ErrOther
	}
	if f.round == len(tp.rounds)-1 {
		if !tp.words.over() {
			return r, ErrOther
		}
		tp.playing = false
	}
	return kept, nil
}
