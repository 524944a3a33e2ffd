// Package checkpoint decides when a computation saves its state, to resume after an
// interruption.
//
// It must not know the content of a state, nor where it is stored.
package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"fedsim/internal/tools/state"
)

// Store stores states by name. Calls for different names may overlap.
type Store interface {
	// Save replaces the state of a name by the output of fill. On an error the old
	// state stays.
	Save(name string, fill func(io.Writer) error) error
	// Load returns the state of a name, nil when there is none.
	Load(name string) ([]byte, error)
	// Path returns the path of a file beside the state of a name, of vectors or of a program.
	// The files are numbered from 0 to 1, and removed with the state.
	Path(name string, number int) string
	// Reject returns the error of a stored state that cannot be resumed, and why.
	Reject(name string, why error) error
}

// Policy says where and how often computations save their state. The zero value saves
// nothing.
type Policy struct {
	Store Store            // nil: no checkpoints
	Every time.Duration    // least time between two saves of a computation
	Clock func() time.Time // the real clock; required with a Store
}

// Saver saves and restores the state of one computation. A nil Saver does neither. It is
// not safe for concurrent use.
type Saver struct {
	ctx     context.Context
	policy  Policy
	name    string
	last    time.Time // of the last save, or of the start
	vectors vectors
}

// Saver returns the saver of a computation that starts now, nil without a Store. The
// name must be unique. The end of ctx interrupts the computation.
func (p Policy) Saver(ctx context.Context, name string) *Saver {
	if p.Store == nil {
		return nil
	}
	return &Saver{
		ctx: ctx, policy: p, name: name, last: p.Clock(),
		vectors: vectors{path: func(file int) string { return p.Store.Path(name, file-1) }, file: 1, size: unknownSize},
	}
}

// Due reports whether to save now: Every has passed since the last save, or the
// computation is interrupted.
func (s *Saver) Due() bool {
	return s != nil && (s.Stopping() || s.policy.Clock().Sub(s.last) >= s.policy.Every)
}

// Stopping reports whether the computation is interrupted.
func (s *Saver) Stopping() bool { return s != nil && s.ctx.Err() != nil }

// Save stores the values that code passes to its coder. Of vectors outside of the state it writes those
// that have changed since the last call.
func (s *Saver) Save(code func(*state.Coder)) error {
	s.vectors.begin()
	err := s.policy.Store.Save(s.name, func(w io.Writer) error {
		c := state.Writing(w)
		c.SetOutside(&s.vectors)
		code(c)
		return errors.Join(c.Err(), s.vectors.close())
	})
	if err == nil {
		err = s.vectors.removeOld()
	}
	s.last = s.policy.Clock()
	return err
}

// Restore returns a coder that reads the stored state, nil when there is none.
func (s *Saver) Restore() (*state.Coder, error) {
	if s == nil {
		return nil, nil
	}
	content, err := s.policy.Store.Load(s.name)
	if content == nil || err != nil {
		return nil, err
	}
	c := state.Reading(bytes.NewReader(content))
	c.SetOutside(&s.vectors)
	return c, nil
}

// Load reads the stored state with code, if there is one. A state that code cannot read is rejected.
func (s *Saver) Load(code func(*state.Coder)) (found bool, err error) {
	c, err := s.Restore()
	if c == nil || err != nil {
		return false, err
	}
	if code(c); c.Err() != nil {
		return true, s.Reject(c.Err())
	}
	return true, nil
}

// Reject returns the error of a stored state that cannot be resumed, and why.
func (s *Saver) Reject(why error) error { return s.policy.Store.Reject(s.name, why) }
