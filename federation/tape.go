package federation

import (
	"errors"
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/state"
	"fedsim/results"
)

// tape is what the mathematics of a run has told its time, in order: what a method
// would send, the work of every solve, which answers it took. Mathematics does not
// see time, and time sees nothing else of it. So a run is kept as its tape and the
// state of its method: going on, time is gone through again by the tape, without
// any mathematics, and then the method is as it was.
type tape struct {
	words   []uint64
	played  int             // how many of them were told again
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
		tp.words = append(tp.words, word)
		return word
	case tp.played == len(tp.words):
		tp.torn = ErrOther
		return 0
	default:
		tp.played++
		return tp.words[tp.played-1]
	}
}

// playing reports whether the method rests, and the tape is played.
func (f *Federation) playing() bool { return f.tape != nil && f.tape.playing }

// begin opens a round of the method and returns how many numbers it sends.
func (f *Federation) begin() int {
	return int(f.told(func() uint64 { return uint64(f.method.Begin()) }))
}

// finish closes a round of the method and returns the server's work.
func (f *Federation) finish() float64 {
	return math.Float64frombits(f.told(func() uint64 { return math.Float64bits(f.method.End()) }))
}

// commit makes the work of device t final.
func (f *Federation) commit(t int) {
	if !f.playing() {
		f.method.Commit(t)
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
	return int(f.told(func() uint64 { return uint64(f.server.Send(t)) }))
}

// receive lets the method have the answer of device t.
func (f *Federation) receive(t int) (taken bool, flops float64) {
	took := f.told(func() uint64 {
		taken, flops = f.server.Receive(t)
		if taken {
			return 1
		}
		return 0
	})
	work := f.told(func() uint64 { return math.Float64bits(flops) })
	return took == 1, math.Float64frombits(work)
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
		d.flops = math.Float64frombits(f.told(func() uint64 { return math.Float64bits(d.flops) }))
		counts := f.told(func() uint64 { return uint64(uint32(d.steps))<<32 | uint64(uint32(d.values)) })
		d.steps, d.values = int32(counts>>32), int32(uint32(counts))
	}
}

// Keep writes what a run is gone on with: the rounds so far, the tape, the W of the
// last update of the coupling, and the state of the method. It is for the end of a
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
	codeWords(c, &f.tape.words)
	learnt := 0
	if f.learnt != nil {
		learnt = 1
	}
	if c.Int(&learnt); learnt == 1 && c.Err() == nil {
		if c.Reads() {
			w := f.setup.Problem.NewWeights()
			f.learnt = &w
		}
		for t := range f.learnt.Rows {
			c.Float64s(f.learnt.Row(t))
		}
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

// restart makes the method anew under the coupling of the last update.
func (f *Federation) restart() (algorithms.Stateful, error) {
	s := &f.setup
	if f.learnt != nil {
		next, err := s.Problem.Regularizer.Update(s.Pool, f.learnt, s.Problem.Config.OmegaFloor)
		if err != nil {
			return nil, fmt.Errorf("updating Omega: %w", err)
		}
		f.coupling = next
	}
	method, err := s.Factory.New(algorithms.Setup{Problem: s.Problem, Coupling: f.coupling, Workers: s.Pool.Size(), Pool: s.Pool}, s.Options)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Factory.Name, err)
	}
	stateful, ok := method.(algorithms.Stateful)
	if !ok {
		return nil, ErrOther
	}
	f.method = method
	return stateful, nil
}

// codeWords names a list of any length. What is read is believed as far as it goes.
func codeWords(c *state.Coder, words *[]uint64) {
	n := len(*words)
	c.Int(&n)
	if c.Reads() {
		*words = nil
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			*words = append(*words, 0)
		}
		c.Uint64(&(*words)[i])
	}
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
		if tp.played != len(tp.words) {
			return r, ErrOther
		}
		tp.playing = false
	}
	return kept, nil
}

// learn notes the W that the coupling is updated from.
func (f *Federation) learn(w *data.Matrix) {
	if f.tape == nil {
		return
	}
	if f.learnt == nil {
		kept := f.setup.Problem.NewWeights()
		f.learnt = &kept
	}
	copy(f.learnt.Data, w.Data)
}
