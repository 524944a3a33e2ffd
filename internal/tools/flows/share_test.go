package flows

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"

	"pgregory.net/rapid"
)

func TestAgainstSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t)
		compare(t, solve(p), solveSlowly(p), p)
	})
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		p := busyProblem(random)
		compare(t, solve(p), solveSlowly(p), p)
	}
}

// A cell without a limit is equivalent to no cell.
func TestCellWithoutLimitIsNone(t *testing.T) {
	forProblems(t, func(t rapid.TB, p problem) {
		p.tree.CellMbps = make([]float64, len(p.tree.CellMbps))
		p.ops = slices.DeleteFunc(slices.Clone(p.ops), func(o op) bool { return o.what == cellMbps })
		want := solve(p)
		p.tree.CellOf, p.tree.CellMbps = nil, nil
		requireSame(t, solve(p), want, 0, p)
	})
}

// A link that nothing can fill is equivalent to no link.
func TestWideLinkIsNone(t *testing.T) {
	forProblems(t, func(t rapid.TB, p problem) {
		p.tree.ServerMbps = 0
		p.ops = slices.DeleteFunc(slices.Clone(p.ops), func(o op) bool { return o.what == server })
		want := solve(p)
		p.tree.ServerMbps = 1e5
		requireSame(t, solve(p), want, 0, p)
	})
}

// forProblems checks a property on general problems and on busy ones.
func forProblems(t *testing.T, property func(rapid.TB, problem)) {
	rapid.Check(t, func(t *rapid.T) { property(t, problems(t)) })
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		property(t, busyProblem(random))
	}
}

// requireSame requires equal outcomes: instants within some nanoseconds, and bytes
// within 1e-12, the rounding of the remaining bytes.
func requireSame(t rapid.TB, got, want map[int][]outcome, ns float64, p problem) {
	t.Helper()
	expect.Must(t, len(got) == len(want), "%d devices have outcomes, want %d: %+v", len(got), len(want), p)
	for device := range p.rates {
		g, w := got[device], want[device]
		expect.Must(t, len(g) == len(w), "device %d has outcomes %v, want %v: %+v", device, g, w, p)
		for i := range w {
			// Seconds are floating-point numbers: the half covers their rounding.
			if math.Abs(g[i].seconds-w[i].seconds) > (ns+0.5)*1e-9 ||
				math.Abs(g[i].bytes-w[i].bytes) > 1e-12*w[i].bytes+1e-9 {
				t.Fatalf("flow %d of device %d: %v, want %v: %+v", i, device, g[i], w[i], p)
			}
		}
	}
}

// The order of operations at the same instant does not matter.
func TestOrderOfInsertionDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t)
		for i := range p.ops { // many operations at each of a few instants
			p.ops[i].at = p.ops[i].at / 5e9 * 5e9
		}
		q := p
		q.ops = rapid.Permutation(p.ops).Draw(t, "order")
		slices.SortStableFunc(q.ops, func(a, b op) int { return cmp.Compare(a.at, b.at) })
		// Operations on one device or cell keep their order.
		q.ops = keepOrderOf(p.ops, q.ops)
		requireSame(t, solve(q), solve(p), 0, p)
	})
}

// keepOrderOf returns shuffled, with the operations on one device or cell at one instant
// in their original order.
func keepOrderOf(original, shuffled []op) []op {
	type thing struct {
		at     engine.Time
		kind   what
		device int
	}
	of := func(o op) thing {
		if o.what == removed {
			o.what = begins
		}
		return thing{o.at, o.what, o.device}
	}
	in := map[thing][]op{}
	for _, o := range original {
		in[of(o)] = append(in[of(o)], o)
	}
	out := make([]op, len(shuffled))
	for i, o := range shuffled {
		out[i], in[of(o)] = in[of(o)][0], in[of(o)][1:]
	}
	return out
}
