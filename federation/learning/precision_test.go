package learning

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/federation"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
)

// rounded returns the values of a set in single precision as float64.
func rounded(set *data.Set) *data.Set {
	wide := *set
	wide.Clients = append([]data.Client(nil), set.Clients...)
	for k := range wide.Clients {
		task := &wide.Clients[k]
		x := data.NewMatrix(task.X.Rows, task.X.Cols)
		for i := range task.X.Rows {
			task.X.Values(i, x.Row(i))
		}
		task.X = x
	}
	return &wide
}

// A run on rows in single precision, in memory or generated again, has the bits of a
// run on the same values in double precision: with every method, its errors, its gap
// and its thetas, over updates of Omega.
func TestSinglePrecisionIsThatOfRoundedRows(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 7, 37, 9, 20
	cfg.Precision = data.PrecisionSingle
	prepare := func(resident bool) *data.Split {
		cfg := cfg
		cfg.Resident = resident
		split, err := data.Prepare(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return split
	}
	kept, anew := prepare(true), prepare(false)
	wide := &data.Split{Train: rounded(kept.Train), Test: rounded(kept.Test)}
	if kept.Train.Clients[0].X.Single == nil || anew.Train.Resident() || wide.Train.Clients[0].X.Single != nil {
		t.Fatal("the sets are not held as they should be")
	}
	end := func(method string, split *data.Split) (*Outcome, algorithms.Model) {
		problem := mustProblem(t, mtl.Defaults(), *split)
		f := start(t, world(t, method, federation.WaitForAll, func(s *Setup) {
			s.Problem = problem
			s.Schedule.Outer, s.Schedule.Rounds = 2, 2
			if method == "mocha" { // for thetas, rows are generated very often
				s.Schedule.ThetaEvery = 3
			}
		}))
		out := finish(t, f)
		return out, f.method.Model()
	}
	for _, method := range withoutHubs() {
		want, model := end(method, wide)
		for name, split := range map[string]*data.Split{"in memory": kept, "made anew": anew} {
			got, single := end(method, split)
			if err := same(got, want); err != nil {
				t.Errorf("%s, %s: %v", method, name, err)
			}
			if err := same(single, model); err != nil {
				t.Errorf("%s, %s: %v", method, name, err)
			}
		}
	}
}
