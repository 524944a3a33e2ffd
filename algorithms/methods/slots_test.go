package methods

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// countingProblem is a problem of countingModel with clients of two to eight rows.
func countingProblem(t *testing.T, model countingModel) *mtl.Problem {
	t.Helper()
	cfg := mtl.Defaults()
	cfg.Model, cfg.Regularizer = mtl.ModelExternal, mtl.RegIndependent
	rows := []int32{2, 4, 6, 8}
	p := expect.Value(mtl.NewExternalProblem(cfg, *data.RowsElsewhere(true, rows, rows, nil), model))(t)
	return p
}

// Under a model in single precision every method with vectors by client rounds them to 24 bits, once
// for each time that it stores them, and computes in double precision: after four rounds its models
// are those of double precision but for some 2^-24. A checkpoint loses no bit of them.
func TestVectorsInSinglePrecision(t *testing.T) {
	t.Parallel()
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		// mb-sgd has gradients by task, not vectors by client; fedem does not learn external models
		if o := f.Options(); f.Describe(o, mtl.Shape{}).Needs.Dual || name == "mb-sgd" || name == "fedem" {
			continue
		} else if _, local := o.(kit.LocalOptions); !local {
			continue
		}
		play := func(a algorithms.Algorithm, p *mtl.Problem, from, to int) {
			for h := from; h < to; h++ {
				round(a, p, h, algorithms.NoLimit, func(k int) bool { return k != h%4 })
			}
		}
		var models [2][]float64
		var begun [2]algorithms.Algorithm
		for i, single := range []bool{false, true} {
			p := countingProblem(t, countingModel{single: single})
			begin := func() algorithms.Algorithm {
				return startWith(t, name, algorithms.Setup{Problem: p, HubSize: 2},
					func(o algorithms.Options) { o.(kit.LocalOptions).Local().Batch = 2 })
			}
			whole, resumed := begin(), begin()
			begun[i] = whole
			play(whole, p, 0, 2)
			var saved bytes.Buffer
			whole.(algorithms.Stateful).State(state.Writing(&saved))
			c := state.Reading(&saved)
			if resumed.(algorithms.Stateful).State(c); c.Err() != nil || saved.Len() > 0 {
				t.Fatalf("%s: %v, %d bytes left", name, c.Err(), saved.Len())
			}
			play(whole, p, 2, 4)
			play(resumed, p, 2, 4)
			models[i] = slices.Clone(p.TaskModels(evaluated(whole)).Data)
			expect.That(t, slices.Equal(models[i], p.TaskModels(evaluated(resumed)).Data),
				"%s, single precision %t: another model when it is resumed", name, single)
		}
		personal := []string{"apfl", "ditto", "fedper", "fedrep", "ifca", "per-fedavg", "pfedme"}
		if w := evaluated(begun[1]); slices.Contains(personal, name) != (w.Make != nil) {
			t.Errorf("%s: the evaluated models are in memory: %t", name, w.Make == nil)
		}
		expect.That(t, !slices.Equal(models[0], models[1]), "%s: no vector is in single precision", name)
		for j, x := range models[0] {
			if diff := math.Abs(x - models[1][j]); !(diff <= 8*max(1, math.Abs(x))/(1<<24)) {
				t.Errorf("%s: value %d is %g, and differs by %g in single precision", name, j, x, diff)
			}
		}
	}
}

// Slots of both precisions do the same with numbers of few bits.
func TestSlotsOfBothPrecisions(t *testing.T) {
	var texts []string
	for _, single := range []bool{false, true} {
		p := countingProblem(t, countingModel{single: single})
		s, other := algorithms.NewSlots(p, 2), algorithms.NewSlots(p, 2)
		space := algorithms.SpaceOf(p, 2)
		text := ""
		show := func(what string, of *algorithms.Slots) {
			for k := range 4 {
				text += fmt.Sprintln(what, k, of.Has(k), of.At(k, space))
			}
		}
		s.Store(0, []float64{1, -2})
		s.Add(0, 0.5, []float64{3, 4})
		s.Add(2, 2, []float64{1, 0.25}) // had none
		show("stored", s)
		sum := []float64{10, 20}
		for k := range 4 {
			s.AddTo(k, -1, sum)
		}
		other.Store(2, []float64{7, 8})
		s.ReplaceBy(other, 2)
		s.ReplaceBy(other, 1) // has none
		s.Release(0)
		s.Release(3) // has none
		show("replaced", s)
		show("moved", other)
		s.Add(3, 1, []float64{5, 6}) // in memory that was used
		into := []float64{-1, -1}
		text += fmt.Sprintln(sum, s.Load(1, into), slices.Clone(into), s.Load(3, into), into)
		u := s.Update("x", 3)
		text += fmt.Sprintln(u.Finite(), len(u.Values)+len(u.Single))
		texts = append(texts, text)
	}
	want := `stored 0 true [2.5 0]
stored 1 false []
stored 2 true [2 0.5]
stored 3 false []
replaced 0 false []
replaced 1 false []
replaced 2 true [7 8]
replaced 3 false []
moved 0 false []
moved 1 false []
moved 2 false []
moved 3 false []
[5.5 19.5] false [-1 -1] true [5 6]
true 2
`
	for i, text := range texts {
		expect.That(t, text == want, "single precision %t:\n%s", i == 1, text)
	}
	if u := (&algorithms.Update{Single: []float32{1, float32(math.Inf(-1))}}); u.Finite() {
		t.Error("-Inf in single precision is finite")
	}
}
