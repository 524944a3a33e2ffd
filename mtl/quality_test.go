package mtl

import (
	"math"
	stdreflect "reflect"
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
)

func aucOf(scores []float64, positive []bool) float64 {
	rows := make([]scored, len(scores))
	for i, z := range scores {
		rows[i] = scored{z, positive[i]}
	}
	return auc(rows)
}

// Twenty scores with ties, computed with scikit-learn's roc_auc_score: 73.5 of 99 pairs.
func TestAUCOfReference(t *testing.T) {
	scores := []float64{0.9, 0.8, 0.8, 0.75, 0.7, 0.65, 0.6, 0.6, 0.6, 0.55, 0.5, 0.45, 0.4, 0.4, 0.35, 0.3, 0.3, 0.2,
		0.1, 0.05}
	labels := []int{1, 1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, 1, -1, -1, -1, 1, -1, -1, -1}
	positive := make([]bool, len(labels))
	for i, y := range labels {
		positive[i] = y > 0
	}
	got := aucOf(scores, positive)
	expect.That(t, math.Abs(got-0.742424242424242) <= 1e-14, "AUC %v", got)
}

// Against the definition, on scores with many ties.
func TestAUCIsTheShareOfPairs(t *testing.T) {
	for seed := range uint64(200) {
		s := rng.New(seed, rng.Synthetic, 0, 0)
		n, levels := 2+s.IntN(40), 1+s.IntN(12)
		scores, positive := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i], positive[i] = float64(s.IntN(levels)-levels/2)/8, s.IntN(3) == 0
		}
		wins, pairs := 0.0, 0.0
		for i := range scores {
			for k := range scores {
				if !positive[i] || positive[k] {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[k]:
					wins++
				case scores[i] == scores[k]:
					wins += 0.5
				}
			}
		}
		want := wins / pairs
		got := aucOf(scores, positive)
		expect.That(t, got == want || math.IsNaN(got) && math.IsNaN(want), "seed %d: AUC %v, want %v", seed, got, want)
	}
	negativeZero := math.Copysign(0, -1)
	if got := aucOf([]float64{0, negativeZero}, []bool{true, false}); got != 0.5 {
		t.Errorf("0 and -0 are no tie: %v", got)
	}
	for name, got := range map[string]float64{
		"one class": aucOf([]float64{1, 2}, []bool{true, true}), "no rows": aucOf(nil, nil),
		"a score that is NaN": aucOf([]float64{1, math.NaN(), 3}, []bool{true, false, false}),
	} {
		expect.That(t, math.IsNaN(got), "%s: AUC %v", name, got)
	}
}

// qualityProblem has tasks of 4, 1 and 7 rows; the test rows of the second are absent.
func qualityProblem(t *testing.T, change func(*data.Split)) (*Problem, data.Matrix) {
	t.Helper()
	split := randomSplit(3, 4, 4, 3, 7)
	split.Test.Clients[1].X.Rows, split.Test.Clients[1].Y = 0, nil
	for i := range split.Train.Clients[0].Y {
		split.Train.Clients[0].Y[i] = 1 // one class
	}
	if change != nil {
		change(&split)
	}
	p := mustProblem(t, Defaults(), split)
	w := p.NewWeights()
	s := rng.New(8, rng.Synthetic, 0, 0)
	for i := range w.Data {
		w.Data[i] = s.Normal()
	}
	return p, w
}

// by hand: every row again, for each client.
func wantFits(p *Problem, task *data.Client, w []float64) (rows int32, errors, loss, auc float64) {
	var scores []float64
	var positive []bool
	for i := range task.X.Rows {
		z, y := 0.0, task.Y[i]
		for j, x := range task.X.Row(i) {
			z += x * w[j]
		}
		loss += p.Loss.Value(z, y)
		if z*y <= 0 {
			errors++
		}
		scores, positive = append(scores, z), append(positive, y > 0)
	}
	n := float64(task.X.Rows)
	return int32(task.X.Rows), errors / n, loss / n, aucOf(scores, positive)
}

func TestQualityByClient(t *testing.T) {
	share := func(s *data.Split) {
		var err error
		if s.Train, err = data.Share(s.Train, 3, 1); err != nil {
			t.Fatal(err)
		}
	}
	pool := func(s *data.Split) { s.Train, s.Test = data.Pool(s.Train), data.Pool(s.Test) }
	for name, c := range map[string]struct {
		change func(*data.Split)
		testOf []int // by client: the element of the test set
		taskOf []int // by client
	}{
		"a client a task":      {nil, []int{0, 1, 2}, []int{0, 1, 2}},
		"three clients a task": {share, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}},
		"pooled":               {pool, []int{0, 1, 2}, []int{0, 0, 0}},
		"pooled, three of a task": {func(s *data.Split) { share(s); pool(s) }, []int{0, 0, 0, 1, 1, 1, 2, 2, 2},
			make([]int, 9)},
	} {
		p, w := qualityProblem(t, c.change)
		q := p.NewSample(0, 0).Quality(parallel.NewPool(3), &w, true)
		expect.Must(t, len(q.Clients) == len(c.testOf), "%s: clients %v", name, q.Clients)
		near := func(a, b float64) bool {
			return math.Abs(a-b) <= 1e-14*(1+math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
		}
		for i, k := range q.Clients {
			for split, of := range map[string]struct {
				fits *Fits
				task *data.Client
			}{"train": {&q.Train, &p.Train.Clients[k]}, "test": {&q.Test, &p.Test.Clients[c.testOf[k]]}} {
				rows, errors, loss, auc := wantFits(p, of.task, w.Row(c.taskOf[k]))
				f := of.fits
				if int(k) != i || f.Rows[i] != rows || !near(f.Error[i], errors) || !near(f.Loss[i], loss) ||
					!near(f.AUC[i], auc) {
					t.Errorf("%s, client %d, %s: %d rows, error %v, loss %v, AUC %v, want %d, %v, %v, %v", name, k,
						split, f.Rows[i], f.Error[i], f.Loss[i], f.AUC[i], rows, errors, loss, auc)
				}
			}
		}
		one := p.NewSample(0, 0).Quality(parallel.NewPool(1), &w, false)
		expect.That(t, one.Train.AUC == nil && one.Test.AUC == nil, "%s: an AUC that was not asked for", name)
		expect.That(t, slices.Equal(one.Train.Loss, q.Train.Loss) && slices.Equal(one.Train.Error, q.Train.Error),
			"%s: one worker has other values than three", name)
	}
	p, w := qualityProblem(t, nil)
	q := p.NewSample(0, 0).Quality(testPool, &w, true)
	if !math.IsNaN(q.Train.AUC[0]) || math.IsNaN(q.Train.AUC[2]) || !math.IsNaN(q.Test.Loss[1]) ||
		q.Test.Rows[1] != 0 || math.IsNaN(q.Test.Loss[0]) {
		t.Errorf("one class and no rows must be NaN: %+v", q)
	}
}

// A sample has the clients of its tasks, with the values that they have among all.
func TestQualityOfSample(t *testing.T) {
	p, w := qualityProblem(t, func(s *data.Split) {
		var err error
		if s.Train, err = data.Share(s.Train, 2, 1); err != nil {
			t.Fatal(err)
		}
	})
	all := p.NewSample(0, 0).Quality(testPool, &w, true)
	s := p.sampleOf([]bool{true, false, true})
	q := s.Quality(testPool, &w, true)
	expect.Must(t, slices.Equal(q.Clients, []int32{0, 1, 4, 5}), "clients %v", q.Clients)
	for i, k := range q.Clients {
		if q.Train.Loss[i] != all.Train.Loss[k] || q.Test.Loss[i] != all.Test.Loss[k] ||
			q.Test.Error[i] != all.Test.Error[k] || q.Test.Rows[i] != all.Test.Rows[k] {
			t.Errorf("client %d differs in the sample", k)
		}
	}
}

// The mean over clients of the errors is that of Evaluate, also of real targets.
func TestQualityAgreesWithEvaluate(t *testing.T) {
	for _, real := range []bool{false, true} {
		split := randomSplit(3, 4, 4, 3, 7)
		split.Train.Real, split.Test.Real = real, real
		held := *split.Train // another number of rows
		split.Validation = &held
		cfg := Defaults()
		if real {
			cfg.Loss = "squared"
		}
		p := mustProblem(t, cfg, split)
		w := p.NewWeights()
		for i := range w.Data {
			w.Data[i] = math.Sin(float64(i))
		}
		o := p.Evaluate(testPool, mustStart(t, p), &w, nil, nil)
		q := p.NewSample(0, 0).Quality(testPool, &w, false)
		for i, x := range []struct {
			of              *Fits
			byRows, clients float64
		}{{&q.Train, o.TrainError, o.TrainErrorClients}, {&q.Test, o.TestError, o.TestErrorClients},
			{&q.Validation, o.ValidationError, o.ValidationErrorClients}} {
			sum, rows, mean := 0.0, 0.0, 0.0
			for k, e := range x.of.Error {
				mean += e / float64(len(x.of.Error))
				if rows += float64(x.of.Rows[k]); real {
					e *= e
				}
				sum += e * float64(x.of.Rows[k])
			}
			byRows := sum / rows
			if real {
				byRows = math.Sqrt(byRows)
			}
			expect.That(t, math.Abs(byRows-x.byRows) <= 1e-15 && math.Abs(mean-x.clients) <= 1e-15 && byRows != mean,
				"real %t, part %d: errors %v and %v, want %v and %v", real, i, x.byRows, x.clients, byRows, mean)
		}
		p.Validation = nil
		if o := p.Evaluate(testPool, mustStart(t, p), &w, nil, nil); !math.IsNaN(o.ValidationError) {
			t.Errorf("the validation error of no rows is %v", o.ValidationError)
		}
	}
}

// Fields has every value of an objective but those of a program's own metrics.
func TestFieldsOfAnObjective(t *testing.T) {
	var o Objective
	for i, x := range o.Fields() {
		*x = float64(i + 1)
	}
	for i := range stdreflect.ValueOf(o).NumField() {
		if f := stdreflect.ValueOf(o).Field(i); f.Kind() == stdreflect.Float64 && f.Float() == 0 {
			t.Errorf("Fields lacks %s", stdreflect.TypeOf(o).Field(i).Name)
		}
	}
}
