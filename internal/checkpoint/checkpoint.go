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

// Keeper keeps what computations have come to under names. Calls for different
// names may overlap.
type Keeper interface {
	// Keep replaces what is kept under a name by what fill writes, or fails and
	// leaves it as it was.
	Keep(name string, fill func(io.Writer) error) error
	// Kept returns what is kept under a name, nil when nothing is.
	Kept(name string) ([]byte, error)
	// Refuse returns the error of what is kept under a name and cannot be gone on with.
	Refuse(name string, why error) error
}

// Policy is where things are kept, and how often. The zero value keeps nothing.
type Policy struct {
	Keeper Keeper           // nil: nothing is kept
	Every  time.Duration    // each thing is kept at most once in so long, and when all ends
	Clock  func() time.Time // the real clock; must be there with a Keeper
}

// Thing is kept at most every so often. A nil one is never kept. It is not safe for
// concurrent use.
type Thing struct {
	ctx    context.Context
	policy Policy
	name   string
	last   time.Time // when it was kept, or began
}

// Thing returns what keeps a thing that begins now, under a name of its own; nil when
// nothing is kept. All ends with ctx.
func (p Policy) Thing(ctx context.Context, name string) *Thing {
	if p.Keeper == nil {
		return nil
	}
	return &Thing{ctx: ctx, policy: p, name: name, last: p.Clock()}
}

// Due reports whether it is time to keep the thing: long enough after the last
// time, or when everything ends.
func (t *Thing) Due() bool {
	return t != nil && (t.Ends() || t.policy.Clock().Sub(t.last) >= t.policy.Every)
}

// Ends reports whether everything ends.
func (t *Thing) Ends() bool { return t != nil && t.ctx.Err() != nil }

// Keep keeps the parts that are named.
func (t *Thing) Keep(named func(*state.Coder)) error {
	err := t.policy.Keeper.Keep(t.name, func(w io.Writer) error {
		c := state.Writing(w)
		named(c)
		return c.Err()
	})
	t.last = t.policy.Clock()
	return err
}

// Kept returns what the thing is gone on with; nil when nothing was kept of it.
func (t *Thing) Kept() (*state.Coder, error) {
	if t == nil {
		return nil, nil
	}
	content, err := t.policy.Keeper.Kept(t.name)
	if content == nil || err != nil {
		return nil, err
	}
	return state.Reading(bytes.NewReader(content)), nil
}

// Refuse says that what was kept is of no use.
func (t *Thing) Refuse(why error) error { return t.policy.Keeper.Refuse(t.name, why) }
