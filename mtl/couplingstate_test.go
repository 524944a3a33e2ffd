package mtl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
)

// coupled returns a problem with the given numbers of tasks and features.
func coupled(tasks, features int) *Problem {
	return &Problem{RowLoss: &RowLoss{Shape: Shape{Features: features, Outputs: 1}}, Rows: &Rows{tasks: tasks}}
}

// updated returns a coupling of each kind that an Omega update makes, of eight tasks
// with three features.
func updated(t *testing.T) map[string]Coupling {
	t.Helper()
	w, zero := randomMatrix(3, 8, 3), data.NewMatrix(8, 3)
	update := func(r Regularizer, w *data.Matrix) Coupling {
		c := expect.Value(r.Update(testPool, w, 1e-3))(t)
		return c
	}
	wide := randomMatrix(5, 8, 20)
	return map[string]Coupling{
		"low rank":  update(Probabilistic{Lambda: 0.1}, &w),
		"clustered": update(Clustered{Lambda: 0.1, Eta: 0.5, Count: 2}, &w),
		"identity":  update(Probabilistic{Lambda: 0.1}, &zero),
		"dense":     update(Probabilistic{Lambda: 0.1}, &wide),
		"graphical": update(Graphical{Lambda: 0.1, L2: 0.1, Features: 3}, &w),
		"sparse":    update(Graphical{Lambda: 0.1, L1: 0.2, L2: 0.1, PriorPrecision: 1, Features: 3}, &w),
	}
}

// encodeCoupling returns the encoded state of a coupling.
func encodeCoupling(t *testing.T, p *Problem, c Coupling) []byte {
	t.Helper()
	var b bytes.Buffer
	w := state.Writing(&b)
	got := p.CouplingState(w, testPool, c)
	expect.Must(t, got == c && w.Err() == nil, "writing returns %T, %v, want the coupling", got, w.Err())
	return b.Bytes()
}

// A decoded coupling computes the same bits as the one that was encoded.
func TestCouplingState(t *testing.T) {
	v := randomMatrix(9, 8, 3)
	of := func(c Coupling) []any {
		w, z := data.NewMatrix(8, 3), data.NewMatrix(8, 3)
		c.Primal(&w, &v)
		c.Gradient(&z, &w)
		task := make([]float64, 3)
		c.Incremental(&v).Task(task, 2)
		return []any{w, z, task, c.Value(&w, nil), c.Value(&w, &v), c.Convexity(), c.Diag(5), c.FLOPs(3),
			c.SigmaPrime(SigmaLemma9, nil), c.SigmaPrime(SigmaSpectral, nil), c.SigmaPrime(SigmaPerTask, nil)}
	}
	kinds := map[string]bool{}
	for name, c := range updated(t) {
		p := coupled(8, 3)
		b := encodeCoupling(t, p, c)
		r := state.Reading(bytes.NewReader(b))
		again := p.CouplingState(r, testPool, nil)
		expect.Must(t, r.Err() == nil, "%s: %v", name, r.Err())
		d := cmp.Diff(of(c), of(again))
		expect.That(t, d == "", "%s: the decoded coupling differs:\n%s", name, d)
		b2 := encodeCoupling(t, p, again)
		expect.That(t, bytes.Equal(b, b2), "%s: encoding it again gives other bytes", name)
		if shifted, ok := c.(Shifted); ok {
			c = shifted.Coupling
		}
		kinds[fmt.Sprintf("%T", c)] = true
		for cut := range b {
			r := state.Reading(bytes.NewReader(b[:cut]))
			if p.CouplingState(r, testPool, nil); !errors.Is(r.Err(), io.ErrUnexpectedEOF) {
				t.Fatalf("%s, cut off after %d of %d bytes: %v", name, cut, len(b), r.Err())
			}
		}
	}
	expect.That(t, len(kinds) == 4,
		"%d kinds of couplings were tested (%v), want Identity, Dense, sparse and lowRank", len(kinds), kinds)
}

// Couplings that no update returns cannot be encoded, and invalid data are rejected.
func TestInvalidCouplingStateIsRejected(t *testing.T) {
	p := coupled(8, 3)
	mean := expect.Value(MeanRegularized{Lambda1: 0.5, Lambda2: 0.1}.Start(testPool, 8))(t)
	w := state.Writing(io.Discard)
	if p.CouplingState(w, testPool, mean); w.Err() == nil {
		t.Errorf("%T was encoded", mean)
	}
	all := updated(t)
	for name, other := range map[string]*Problem{"low rank": coupled(8, 2), "dense": coupled(9, 20)} {
		r := state.Reading(bytes.NewReader(encodeCoupling(t, p, all[name])))
		c := other.CouplingState(r, testPool, nil)
		expect.That(t, c == nil && r.Err() != nil, "%s: accepted by a problem of another size", name)
	}
	b := encodeCoupling(t, p, all["identity"])
	b[len(b)-9] = 7 // the highest byte of its kind, which is before the scale
	r := state.Reading(bytes.NewReader(b))
	if p.CouplingState(r, testPool, nil); r.Err() == nil {
		t.Error("an unknown kind was accepted")
	}
}
