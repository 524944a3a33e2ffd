package crossval

import (
	"errors"
	"fmt"
	"math"

	"fedsim/data"
	"fedsim/internal/checkpoint"
	"fedsim/internal/state"
)

// errMismatch says that a checkpoint does not match the table.
var errMismatch = errors.New("it belongs to another table")

// pathState is the progress of one model on one part of the rows of a set.
type pathState struct {
	errors []taskErrors // for the lambdas solved so far, the largest first
	next   warmStart    // for the next lambda
}

// restore reads the complete state of a trial, or else its checkpoint, if there is one.
func (t *trial) restore() error {
	if t.checkpoint == nil && t.whole == nil {
		return nil
	}
	t.digest = t.set.Digest()
	for _, from := range []*checkpoint.Saver{t.whole, t.checkpoint} {
		c, err := from.Restore()
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		t.from = from
		if t.state(c); c.Err() != nil {
			return from.Reject(c.Err())
		}
		break
	}
	if t.from == t.whole { // nothing is left to store
		t.whole = nil
	}
	return nil
}

// record appends the errors for one more lambda, and saves a checkpoint when its
// interval has passed. A checkpoint that cannot be saved ends the trial.
func (t *trial) record(x *pathState, errors taskErrors, next warmStart) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.errors, x.next = append(x.errors, errors), next
	t.unsaved = true
	if t.checkpoint.Due() {
		t.save()
	}
}

// saveRest saves results that are not in the last checkpoint.
func (t *trial) saveRest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checkpoint != nil && t.unsaved {
		t.save()
	}
}

// save writes a checkpoint, unless an earlier one failed: other workers may still record
// results after the failure. The caller holds the lock.
func (t *trial) save() {
	if t.unsaved = false; t.saveErr != nil {
		return
	}
	if t.saveErr = t.checkpoint.Save(t.state); t.saveErr != nil {
		t.cancel()
	}
}

// state encodes or decodes the source and the digest of the rows, which must match those
// of the set, and the state of every path.
func (t *trial) state(c *state.Coder) {
	source, digest := t.source, t.digest
	c.String(&source)
	c.Uint64(&digest)
	switch {
	case c.Err() != nil:
		return
	case source != t.source:
		c.Fail(fmt.Errorf("its rows are from %q, those of the table from %q", source, t.source))
	case digest != t.digest:
		c.Fail(fmt.Errorf("the rows of %q have changed", source))
	}
	for part := range t.paths {
		for m := range t.paths[part] {
			if t.paths[part][m].state(c, len(t.set.Tasks), len(t.table.Lambdas)); c.Err() != nil {
				return
			}
		}
	}
}

// state encodes or decodes a path with the given number of tasks and at most the given
// number of lambdas.
func (x *pathState) state(c *state.Coder, tasks, lambdas int) {
	n := c.Count(len(x.errors))
	if n > lambdas {
		c.Fail(fmt.Errorf("it has %d lambdas for a model, the table has %d", n, lambdas))
	}
	for l := 0; l < n && c.Err() == nil; l++ {
		if c.Reads() {
			x.errors = append(x.errors, newTaskErrors(tasks))
		}
		c.Float64s(x.errors[l].sum)
		c.Ints(x.errors[l].rows)
	}
	x.next.state(c, tasks)
}

// maxMagnitude bounds the numbers of a valid checkpoint. Products of a few such numbers
// do not overflow.
const maxMagnitude = 1e50

// state encodes or decodes a warm start of at most the given number of tasks. It
// allocates as it reads, so that a corrupt length cannot exhaust the memory.
func (s *warmStart) state(c *state.Coder, tasks int) {
	number := func(v *float64) {
		if c.Float64(v); c.Reads() && c.Err() == nil && !(math.Abs(*v) <= maxMagnitude) {
			c.Fail(fmt.Errorf("the value %v is out of range", *v))
		}
	}
	number(&s.lambda)
	n := c.Count(len(s.alpha))
	if n > tasks {
		c.Fail(fmt.Errorf("it has dual variables for %d tasks, the data set has %d", n, tasks))
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

// fits reports whether there is one dual variable for each output of each row.
func (s *warmStart) fits(train *data.Set) bool {
	if len(s.alpha) != len(train.Tasks) {
		return false
	}
	for k := range s.alpha {
		if len(s.alpha[k]) != train.Tasks[k].X.Rows*train.Outputs() {
			return false
		}
	}
	return true
}
