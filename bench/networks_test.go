package main

import (
	"math"
	"testing"
)

// NumPy takes the same steps.
func TestNetworksTakeTheSameSteps(t *testing.T) {
	all, err := newTrainers()
	if m, failure := leftOut(err); m != nil {
		t.Skip(m)
	} else if failure != nil {
		t.Fatal(failure)
	}
	defer all.numpy.close()
	for command, ours := range map[string]*learner{"softmax": all.softmax, "mlp": all.network} {
		if _, err := ours.epoch(); err != nil {
			t.Fatal(err)
		}
		if _, err := all.numpy.ask("%s", command); err != nil {
			t.Fatal(err)
		}
		theirs, err := all.numpy.values()
		if err != nil {
			t.Fatal(err)
		}
		w, moved := ours.last.W.Row(0), 0.0
		if len(theirs) != len(w) {
			t.Fatalf("%s: %d values, NumPy has %d", command, len(w), len(theirs))
		}
		for i, v := range w {
			moved = max(moved, math.Abs(v))
			if math.Abs(v-theirs[i]) > 1e-9 {
				t.Fatalf("%s: value %d is %.15g, in NumPy %.15g", command, i, v, theirs[i])
			}
		}
		if moved < 0.01 {
			t.Errorf("%s: the largest value is %g", command, moved)
		}
	}
}
