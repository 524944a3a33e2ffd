package checkpoint_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
)

// A state is saved again after a while, and at once when the computation is interrupted.
func TestSaversAreDueAfterAWhile(t *testing.T) {
	now := time.Unix(0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	store := &checkpointtest.Store{}
	saver := checkpoint.Policy{Store: store, Every: time.Minute, Clock: func() time.Time { return now }}.Saver(ctx, "x")
	value := 7
	code := func(c *state.Coder) { c.Int(&value) }
	for _, step := range []struct {
		after time.Duration
		due   bool
	}{{0, false}, {59 * time.Second, false}, {time.Second, true}, {time.Hour, true}} {
		now = now.Add(step.after)
		expect.That(t, saver.Due() == step.due, "at %v due = %v", now, saver.Due())
	}
	expect.NoError(t, saver.Save(code))
	expect.That(t, !saver.Due() && !saver.Stopping(), "due right after a save")
	cancel()
	expect.That(t, saver.Due() && saver.Stopping(), "not due when interrupted")
	value = 0
	c := expect.Value(saver.Restore())(t)
	if code(c); c.Err() != nil || value != 7 {
		t.Errorf("got %d, %v", value, c.Err())
	}
}

func TestNoSaverWithoutAStore(t *testing.T) {
	saver := checkpoint.Policy{}.Saver(t.Context(), "x")
	c, err := saver.Restore()
	expect.That(t, saver == nil && !saver.Due() && !saver.Stopping() && c == nil && err == nil, "there is a saver")
}

// A save that fails leaves the older state.
func TestFailedSavesLeaveTheOldState(t *testing.T) {
	store := &checkpointtest.Store{}
	saver := checkpoint.Policy{Store: store, Clock: time.Now}.Saver(t.Context(), "x")
	value := 7
	expect.NoError(t, saver.Save(func(c *state.Coder) { c.Int(&value) }))
	before := string(store.All()["x"])
	wrong := errors.New("cannot be coded")
	err := saver.Save(func(c *state.Coder) {
		c.Int(&value)
		c.Fail(wrong)
	})
	expect.That(t, errors.Is(err, wrong) && string(store.All()["x"]) == before, "%v, stored %q", err, store.All()["x"])
}
