package crossval

import (
	"errors"
	"fmt"
	"math"

	"fedsim/data"
	"fedsim/internal/state"
)

// errOther is the reason why what is kept does not fit where it was kept.
var errOther = errors.New("it is of another table")

// trail is how far a model has come on one part of the rows of a set.
type trail struct {
	wrong []misses // under the lambdas so far, the largest first
	next  start    // of the next lambda
}

// recall takes how far a trial had come before an interruption.
func (t *trial) recall() error {
	if t.kept == nil {
		return nil
	}
	t.digest = t.set.Digest()
	c, err := t.kept.Restore()
	if c == nil || err != nil {
		return err
	}
	if t.state(c); c.Err() != nil {
		return t.kept.Reject(c.Err())
	}
	return nil
}

// note notes what a model gets wrong under one more lambda, and where the next one
// starts. When that cannot be kept the trial ends.
func (t *trial) note(x *trail, wrong misses, next start) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.wrong, x.next = append(x.wrong, wrong), next
	t.fresh = true
	if t.kept.Due() {
		t.keep()
	}
}

// leave keeps what was not when the trial is over.
func (t *trial) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept != nil && t.fresh {
		t.keep()
	}
}

// keep keeps how far the trial has come, as long as it can: others who were still at
// work may have more to keep after a failure. The caller has the lock.
func (t *trial) keep() {
	if t.fresh = false; t.unkept != nil {
		return
	}
	if t.unkept = t.kept.Save(t.state); t.unkept != nil {
		t.cancel()
	}
}

// state names the rows of the set, which must be those of before, and the trails of
// all its parts.
func (t *trial) state(c *state.Coder) {
	source, digest := t.source, t.digest
	c.String(&source)
	c.Uint64(&digest)
	switch {
	case c.Err() != nil:
		return
	case source != t.source:
		c.Fail(fmt.Errorf("it is of the rows of %q, and now there are those of %q", source, t.source))
	case digest != t.digest:
		c.Fail(fmt.Errorf("it is of other rows of %q than there are now", source))
	}
	for part := range t.trails {
		for m := range t.trails[part] {
			if t.trails[part][m].state(c, len(t.set.Tasks), len(t.table.Lambdas)); c.Err() != nil {
				return
			}
		}
	}
}

// state names a trail over so many tasks, of at most so many lambdas.
func (x *trail) state(c *state.Coder, tasks, lambdas int) {
	n := c.Count(len(x.wrong))
	if n > lambdas {
		c.Fail(fmt.Errorf("a model under %d of %d lambdas", n, lambdas))
	}
	for l := 0; l < n && c.Err() == nil; l++ {
		if c.Reads() {
			x.wrong = append(x.wrong, newMisses(tasks))
		}
		c.Float64s(x.wrong[l].sum)
		c.Ints(x.wrong[l].rows)
	}
	x.next.state(c, tasks)
}

// farthest is how far from 0 a number can be that somebody has computed: products of
// a few of them are still numbers.
const farthest = 1e50

// state names where a lambda starts, in at most so many tasks. What is read is
// believed as far as it goes.
func (s *start) state(c *state.Coder, tasks int) {
	number := func(v *float64) {
		if c.Float64(v); c.Reads() && c.Err() == nil && !(math.Abs(*v) <= farthest) {
			c.Fail(fmt.Errorf("%v is no number that was computed", *v))
		}
	}
	number(&s.lambda)
	n := c.Count(len(s.alpha))
	if n > tasks {
		c.Fail(fmt.Errorf("dual variables of %d of %d tasks", n, tasks))
	}
	for k := 0; k < n && c.Err() == nil; k++ {
		if c.Reads() {
			s.alpha = append(s.alpha, nil)
		}
		rows := c.Count(len(s.alpha[k]))
		for i := 0; i < rows && c.Err() == nil; i++ {
			if c.Reads() {
				s.alpha[k] = append(s.alpha[k], 0)
			}
			number(&s.alpha[k][i])
		}
	}
}

// fits reports whether there is a dual variable for each row.
func (s *start) fits(train *data.Set) bool {
	if len(s.alpha) != len(train.Tasks) {
		return false
	}
	for k := range s.alpha {
		if len(s.alpha[k]) != train.Tasks[k].X.Rows {
			return false
		}
	}
	return true
}
