package methods

import (
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// The description of a registered method says what its type can do, no more and no less, before a
// run and of an instance. Timing mode has the same messages and rounds.
func TestMethodsAreAsDescribed(t *testing.T) {
	p, c := randomProblem(t, untied, nil, 9, 14, 5, 30)
	solution := p.NewWeights()
	for _, name := range algorithms.Names() {
		f, _ := algorithms.Lookup(name)
		o := f.Options()
		before := f.Describe(o, p.Shape)
		m := expect.Value(f.Start(algorithms.Setup{Problem: p, Shape: p.Shape, Rows: p.RowCounts(), Coupling: c,
			Solution: &solution, Workers: 1}, o))(t)
		for about, d := range map[string]algorithms.Description{"before": before, "started": m.About} {
			_, asynchronous := m.Algorithm.(algorithms.Asynchronous)
			_, tiered := m.Algorithm.(algorithms.Tiered)
			_, reporter := m.Algorithm.(algorithms.Reporter)
			_, stateful := m.Algorithm.(algorithms.Stateful)
			_, inspected := m.Algorithm.(algorithms.Inspected)
			_, batched := m.Algorithm.(algorithms.Batched)
			if d.Name != name || d.Asynchronous != algorithms.Can(asynchronous) || (d.HubRounds > 0) != tiered ||
				(len(d.Metrics) > 0) != reporter ||
				d.State != algorithms.Can(stateful) || d.Inspected != inspected || d.Batched != batched ||
				d.Losses != algorithms.No {
				t.Errorf("%s, %s: %+v", name, about, d)
			}
			if d.Evaluated != algorithms.ByRun || d.Own || (d.Compared || d.Theta) && !d.Inspected ||
				d.Theta != d.Needs.Dual || d.Compared && d.Weights != algorithms.Yes {
				t.Errorf("%s, %s: is evaluated or inspected otherwise: %+v", name, about, d)
			}
			if rows := m.Model().W.Rows; d.Model.Count(7) == 1 && rows != 1 ||
				d.Model == algorithms.TaskModels && rows != p.Tasks() {
				t.Errorf("%s, %s: has %d models, and kind %d", name, about, rows, d.Model)
			}
		}
		if before.Work.Steps == nil {
			want := "starting " + name + `: run.mode = "timing": must be "learning": how long ` + name +
				" computes depends on what it learns"
			if _, err := f.Timed().Start(algorithms.Setup{Shape: p.Shape, Rows: p.RowCounts(), Workers: 1},
				o); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			continue
		}
		timed := expect.Value(f.Timed().Start(algorithms.Setup{Shape: p.Shape, Rows: p.RowCounts(), Workers: 1}, o))(t)
		d := &timed.About
		if d.Evaluated != algorithms.ByNobody || d.Model != m.About.Model || d.Asynchronous != m.About.Asynchronous ||
			d.HubRounds != m.About.HubRounds ||
			(d.Messages.Usual == nil) != (m.About.Messages.Usual == nil) ||
			d.Messages.Differ != m.About.Messages.Differ || timed.Stateful != nil || timed.Inspected != nil {
			t.Errorf("%s, timed: %+v, learning %+v", name, *d, m.About)
		}
	}
}

// bare has no method but those of Algorithm.
type bare struct{ algorithms.Algorithm }

// A method that lacks a described interface is refused. An interface that is not described is not
// used.
func TestAbilitiesAreThoseDescribed(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	f, _ := algorithms.Lookup("fedbuff")
	s := algorithms.Setup{Problem: p, Shape: p.Shape, Coupling: c, Workers: 1}
	describe, build := f.Describe, f.New
	f.New = func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		a, err := build(s, o)
		return bare{a}, err
	}
	const want = "starting fedbuff: its description needs algorithms.Asynchronous, which methods.bare is not"
	if _, err := f.Start(s, f.Options()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	f.New = build
	f.Describe = func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := describe(o, shape)
		d.Asynchronous, d.State = algorithms.No, algorithms.No
		return d
	}
	m, err := f.Start(s, f.Options())
	expect.That(t, err == nil && m.Asynchronous == nil && m.Stateful == nil && m.Inspected != nil, "%+v: %v", m, err)
	s.Problem = nil
	if _, err = f.Start(s, f.Options()); err == nil || !strings.Contains(err.Error(), "must be another") {
		t.Errorf("without a problem: %v", err)
	}
}
