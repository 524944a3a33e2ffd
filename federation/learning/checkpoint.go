package learning

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/internal/rooms/replay"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// ErrMismatch is the error of a run that is resumed from the checkpoint of another run.
var ErrMismatch = replay.ErrMismatch

// Replaying reports whether a resumed run still replays the rounds of its checkpoint.
func (f *Federation) Replaying() bool { return f.log.Replaying() }

// Save saves a checkpoint: the log of the method's answers, the coupling if it was updated, and
// the state of the method. It is for the end of a round of a run with Setup.Checkpoint, whose
// method has Description.State.
func (f *Federation) Save(c *algorithms.Coder) {
	if f.method.Stateful == nil {
		c.Fail(fmt.Errorf("method %s has no checkpoints: its description has no state", f.methodName()))
		return
	}
	f.log.State(c)
	f.codeCoupling(c)
	f.method.Stateful.State(c)
}

// record makes a run log what its method answers. A resumed run reads its checkpoint, and replays
// the log before a new method, with the state of the checkpoint, answers again.
func (f *Federation) record() error {
	s := &f.setup
	if s.Checkpoint == nil && s.Resume == nil {
		return nil
	}
	f.log = replay.Record(f.method, s.Pool)
	if c := s.Resume; c != nil {
		f.log.State(c)
		f.codeCoupling(c)
		if c.Err() == nil {
			method, err := s.newMethod(f.coupling)
			if err != nil {
				return fmt.Errorf("resuming a run: %w", err)
			}
			if method.Stateful == nil {
				return ErrMismatch
			}
			method.Stateful.State(c)
			f.log.Resume(method)
		}
		if err := c.Err(); err != nil {
			return fmt.Errorf("resuming a run: %w", err)
		}
	}
	f.method = f.log.Method()
	return nil
}

// codeCoupling writes or reads the coupling, if it was updated.
func (f *Federation) codeCoupling(c *state.Coder) {
	updated := f.coupling != f.setup.Coupling
	if c.Bool(&updated); !updated || c.Err() != nil {
		return
	}
	if f.setup.Problem == nil {
		c.Fail(ErrMismatch)
		return
	}
	f.coupling = f.setup.Problem.CouplingState(c, f.setup.Pool, f.coupling)
}

// answer adds the measures of the model to a round, as ask does, or replays it. The measures of
// the round must be those of the checkpoint.
func (f *Federation) answer(r *results.Round, ask func() error) (err error) {
	measured, replayed := *r, f.Replaying()
	r.Thetas = nil // they are answers of their own
	f.log.Answer(func() { err = ask() }, func(c *state.Coder) {
		f.rounds.Code(c, r)
		c.Uint64(&f.evaluation.hash)
	})
	if replayed &&
		(f.log.Err() != nil || !results.SameMeasures(results.RoundColumns, &measured, r) ||
			!f.evaluation.declares(r)) {
		return ErrMismatch
	}
	r.Thetas = measured.Thetas
	return err
}
