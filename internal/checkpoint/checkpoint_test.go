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
	attic := &checkpointtest.Attic{}
	thing := checkpoint.Policy{Keeper: attic, Every: time.Minute, Clock: func() time.Time { return now }}.Thing(ctx, "x")
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
	if err := thing.Keep(named); err != nil {
		t.Fatal(err)
	}
	if thing.Due() || thing.Ends() {
		t.Error("it is due just after it was kept")
	}
	cancel()
	if !thing.Due() || !thing.Ends() {
		t.Error("it is not due when all ends")
	}
	value = 0
	c, err := thing.Kept()
	if err != nil {
		t.Fatal(err)
	}
	if named(c); c.Err() != nil || value != 7 {
		t.Errorf("%d was kept, %v", value, c.Err())
	}
}

func TestNothingIsKeptWithoutAKeeper(t *testing.T) {
	thing := checkpoint.Policy{}.Thing(t.Context(), "x")
	if c, err := thing.Kept(); thing != nil || thing.Due() || thing.Ends() || c != nil || err != nil {
		t.Error("there is a thing")
	}
}

// What cannot be written is not kept, and what was kept stays.
func TestAFailureLeavesWhatThereWas(t *testing.T) {
	attic := &checkpointtest.Attic{}
	thing := checkpoint.Policy{Keeper: attic, Clock: time.Now}.Thing(t.Context(), "x")
	value := 7
	if err := thing.Keep(func(c *state.Coder) { c.Int(&value) }); err != nil {
		t.Fatal(err)
	}
	before := string(attic.Things()["x"])
	wrong := errors.New("it cannot be named")
	err := thing.Keep(func(c *state.Coder) {
		c.Int(&value)
		c.Fail(wrong)
	})
	if !errors.Is(err, wrong) || string(attic.Things()["x"]) != before {
		t.Errorf("%v, and %q is kept", err, attic.Things()["x"])
	}
}
