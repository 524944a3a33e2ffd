package checkpoint_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fedsim/internal/checkpoint"
	"fedsim/internal/checkpoint/checkpointtest"
	"fedsim/internal/state"
)

// A thing is due when it was not kept for so long, and when all ends.
func TestThingsAreDueEverySoOften(t *testing.T) {
	now := time.Unix(0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	attic := &checkpointtest.Store{}
	thing := checkpoint.Policy{Store: attic, Every: time.Minute, Clock: func() time.Time { return now }}.Saver(ctx, "x")
	value := 7
	named := func(c *state.Coder) { c.Int(&value) }
	for _, step := range []struct {
		after time.Duration
		due   bool
	}{{0, false}, {59 * time.Second, false}, {time.Second, true}, {time.Hour, true}} {
		now = now.Add(step.after)
		if thing.Due() != step.due {
			t.Errorf("at %v it is due: %v", now, thing.Due())
		}
	}
	if err := thing.Save(named); err != nil {
		t.Fatal(err)
	}
	if thing.Due() || thing.Stopping() {
		t.Error("it is due just after it was kept")
	}
	cancel()
	if !thing.Due() || !thing.Stopping() {
		t.Error("it is not due when all ends")
	}
	value = 0
	c, err := thing.Restore()
	if err != nil {
		t.Fatal(err)
	}
	if named(c); c.Err() != nil || value != 7 {
		t.Errorf("%d was kept, %v", value, c.Err())
	}
}

func TestNothingIsKeptWithoutAKeeper(t *testing.T) {
	thing := checkpoint.Policy{}.Saver(t.Context(), "x")
	if c, err := thing.Restore(); thing != nil || thing.Due() || thing.Stopping() || c != nil || err != nil {
		t.Error("there is a thing")
	}
}

// What cannot be written is not kept, and what was kept stays.
func TestAFailureLeavesWhatThereWas(t *testing.T) {
	attic := &checkpointtest.Store{}
	thing := checkpoint.Policy{Store: attic, Clock: time.Now}.Saver(t.Context(), "x")
	value := 7
	if err := thing.Save(func(c *state.Coder) { c.Int(&value) }); err != nil {
		t.Fatal(err)
	}
	before := string(attic.All()["x"])
	wrong := errors.New("it cannot be named")
	err := thing.Save(func(c *state.Coder) {
		c.Int(&value)
		c.Fail(wrong)
	})
	if !errors.Is(err, wrong) || string(attic.All()["x"]) != before {
		t.Errorf("%v, and %q is kept", err, attic.All()["x"])
	}
}
