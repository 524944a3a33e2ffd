// Package checkpoint decides when what a computation has come to is kept, to go on
// with it after an interruption.
//
// It must not know what is kept, nor where.
package checkpoint

import (
	"bytes"
	"context"
	"io"
	"time"

	"fedsim/internal/state"
)

// Store keeps what computations have come to under names. Calls for different
// names may overlap.
type Store interface {
	// Save replaces what is kept under a name by what fill writes, or fails and
	// leaves it as it was.
	Save(name string, fill func(io.Writer) error) error
	// Load returns what is kept under a name, nil when nothing is.
	Load(name string) ([]byte, error)
	// Reject returns the error of what is kept under a name and cannot be resumed.
	Reject(name string, why error) error
}

// Policy is where things are kept, and how often. The zero value keeps nothing.
type Policy struct {
	Store Store            // nil: nothing is kept
	Every time.Duration    // each thing is kept at most once in so long, and when all ends
	Clock func() time.Time // the real clock; must be there with a Store
}

// Saver is kept at most every so often. A nil one is never kept. It is not safe for
// concurrent use.
type Saver struct {
	ctx    context.Context
	policy Policy
	name   string
	last   time.Time // when it was kept, or began
}

// Saver returns what keeps a thing that begins now, under a name of its own; nil when
// nothing is kept. All ends with ctx.
func (p Policy) Saver(ctx context.Context, name string) *Saver {
	if p.Store == nil {
		return nil
	}
	return &Saver{ctx: ctx, policy: p, name: name, last: p.Clock()}
}

// Due reports whether it is time to keep the thing: long enough after the last
// time, or when everything ends.
func (t *Saver) Due() bool {
	return t != nil && (t.Stopping() || t.policy.Clock().Sub(t.last) >= t.policy.Every)
}

// Stopping reports whether everything ends.
func (t *Saver) Stopping() bool { return t != nil && t.ctx.Err() != nil }

// Save keeps the parts that are named.
func (t *Saver) Save(named func(*state.Coder)) error {
	err := t.policy.Store.Save(t.name, func(w io.Writer) error {
		c := state.Writing(w)
		named(c)
		return c.Err()
	})
	t.last = t.policy.Clock()
	return err
}

// Restore returns what the thing is gone on with; nil when nothing was kept of it.
func (t *Saver) Restore() (*state.Coder, error) {
	if t == nil {
		return nil, nil
	}
	content, err := t.policy.Store.Load(t.name)
	if content == nil || err != nil {
		return nil, err
	}
	return state.Reading(bytes.NewReader(content)), nil
}

// Reject says that what was kept is of no use.
func (t *Saver) Reject(why error) error { return t.policy.Store.Reject(t.name, why) }
