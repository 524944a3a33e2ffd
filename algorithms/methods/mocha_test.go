package methods

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// "epochs" are passes over a device's own rows, rounded up; the protocol may
// allow fewer, never more.
func TestMOCHASteps(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 5, 7, 20)
	for _, x := range []struct {
		epochs         float64
		allowed, seven int
		twenty         int
	}{
		{1, algorithms.NoLimit, 7, 20}, {0.5, algorithms.NoLimit, 4, 10}, {0.01, algorithms.NoLimit, 1, 1},
		{2.5, algorithms.NoLimit, 18, 50}, {1, 9, 7, 9}, {2, 1, 1, 1}, {0, 13, 13, 13}, {0, 1, 1, 1},
	} {
		a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = x.epochs })
		a.Begin()
		if got := a.Solve(request(0, 0, x.allowed, 0)).Steps; got != x.seven {
			t.Errorf("%g epochs of 7 rows, %d steps allowed: %d steps, want %d", x.epochs, x.allowed, got, x.seven)
		}
		if got := a.Solve(request(1, 0, x.allowed, 0)).Steps; got != x.twenty {
			t.Errorf("%g epochs of 20 rows, %d steps allowed: %d steps, want %d", x.epochs, x.allowed, got, x.twenty)
		}
		if needs := needsOf("mocha",
			&algorithms.MOCHAOptions{Epochs: x.epochs}); needs != (algorithms.Needs{Budget: x.epochs == 0,
			Dual: true}) {
			t.Errorf("%g epochs: needs %+v", x.epochs, needs)
		}
	}
}

// needsOf returns a method's demands on the round protocol.
func needsOf(name string, o algorithms.Options) algorithms.Needs {
	factory, _ := algorithms.Lookup(name)
	return factory.Describe(o, mtl.Shape{}).Needs
}

// A step that moves its coordinate is a dot product, an axpy and eight
// operations; one that does not saves the axpy.
func TestMOCHAFLOPs(t *testing.T) {
	p, c := randomProblem(t, untied, nil, 6, 40)
	a := startDual(t, "mocha", p, c, nil)
	const d = 6
	idle := 0
	for h := range 50 {
		a.Begin()
		response := a.Solve(request(0, h, algorithms.NoLimit, 0))
		moved := 0
		for i := range a.Next[0] { // each row once: one epoch
			if a.Next[0][i] != a.Duals.Alpha[0][i] {
				moved++
			}
		}
		if want := float64(moved*(4*d+8) + (40-moved)*(2*d+8)); response.FLOPs != want {
			t.Errorf("round %d: %g FLOPs for %d of 40 steps that moved, want %g", h, response.FLOPs, moved, want)
		}
		idle += 40 - moved
		a.Commit(0, 1)
		a.End()
	}
	expect.That(t, idle != 0 && idle != 50*40, "%d of 2000 steps were idle", idle)
}
