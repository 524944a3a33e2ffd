package data

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

func realConfig() Config {
	cfg := Defaults()
	cfg.Target = TargetReal
	return cfg
}

// The label column of a csv file may have any finite number if targets are real.
func TestReadCSVOfRealTargets(t *testing.T) {
	const text = "task,label,x\n1,2.5,1\n1,-3e-7,2\n2,0,3\n2,-1,4\n"
	set, err := ReadCSV(bytes.NewReader([]byte(text)), "in.csv", "task", "label", TargetReal)
	if err != nil {
		t.Fatal(err)
	}
	if !set.Real {
		t.Error("the set is not marked as real")
	}
	if diff := cmp.Diff([][]float64{{2.5, -3e-7}, {0, -1}}, [][]float64{set.Tasks[0].Y, set.Tasks[1].Y}); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ text, want string }{
		{"task,label,x\n1,inf,1\n", `in.csv:2:3: the target "inf" is not a finite number`},
		{"task,label,x\n1,1,1\n1,,1\n", `in.csv:3:3: the target "" is not a number`},
		{"task,label,x\n1,1,1\n1,ten,1\n", `in.csv:3:3: the target "ten" is not a number`},
		{"task,label,x\n1,-1e101,1\n", `in.csv:2:3: the target "-1e101" is too large, values must be at most 1e100 in size`},
		{"task,label,x\n1,7,1\n2,7,2\n", `in.csv: the column "label": all targets are the same number`},
	} {
		_, err := ReadCSV(bytes.NewReader([]byte(c.text)), "in.csv", "task", "label", TargetReal)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	if _, err := ReadCSV(bytes.NewReader([]byte("task,label,x\n1,7,1\n2,7,2\n")), "in.csv", "task", "label", TargetReal); !errors.Is(err, ErrOneTarget) {
		t.Errorf("%v is not ErrOneTarget", err)
	}
}

// Real targets of any size are preserved to the bit.
func TestCSVRoundTripOfRealTargets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		set := &Set{Features: 1, Real: true}
		for _, name := range []string{"a", "b"} {
			n := rapid.IntRange(2, 5).Draw(r, "n")
			task := Task{Name: name, X: NewMatrix(n, 1), Y: make([]float64, n)}
			for i := range n {
				task.Y[i] = rapid.Float64Range(-maxMagnitude, maxMagnitude).Draw(r, "y") + float64(i)
			}
			set.Tasks = append(set.Tasks, task)
		}
		if set.requireVariety() != nil {
			r.Skip("equal targets are refused")
		}
		var file bytes.Buffer
		if err := WriteCSV(&file, set); err != nil {
			r.Fatal(err)
		}
		back, err := ReadCSV(&file, "back", "task", "label", TargetReal)
		if err != nil {
			r.Fatal(err)
		}
		requireSameBits(t, set, back)
	})
}

// Preparation preserves that targets are real.
func TestPreparationKeepsRealTargets(t *testing.T) {
	cfg := realConfig()
	cfg.Skew, cfg.Bias, cfg.Standardize, cfg.DevicesPerTask = true, true, true, 2
	split, err := Prepare(cfg)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fold, err := Fold(set, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Set{"loaded": set, "train": split.Train, "test": split.Test, "fold train": fold.Train, "fold test": fold.Test} {
		if !s.Real {
			t.Errorf("%s: not marked as real", name)
		}
	}
	if cfg.Target = TargetClass; generate(cfg).Real {
		t.Error("labels are marked as real")
	}
}

// The generated target is the latent score, a standard normal number, with noise of the
// configured size: mean 0, variance 1 + noise^2. A linear model of the features explains
// all but the noise and the effect of squashing.
func TestGeneratedRealTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	const noise = 0.5
	cfg := realConfig()
	cfg.Synthetic = SyntheticConfig{Tasks: 2, Features: 60, RowsMin: 4000, RowsMax: 4000, Clusters: 1, Factors: 5,
		PositiveShare: -1, ClusterSpread: 0.5, TaskSpread: 0.5, Shift: 0.1, Margin: -1, DifficultySpread: 0, Noise: -1, TargetNoise: noise}
	if said := problems(cfg); said != nil {
		t.Fatal(said)
	}
	set := generate(cfg)
	checkShape(t, set)
	for k := range set.Tasks {
		task := &set.Tasks[k]
		mean, deviation := stat.MeanStdDev(task.Y, nil)
		// Five standard errors of 5334 rows: 5/sqrt(5334) = 0.07 of the deviation.
		if want := math.Sqrt(1 + noise*noise); math.Abs(mean) > 0.07*want || math.Abs(deviation-want) > 0.05*want {
			t.Errorf("task %d: mean %.3f, deviation %.3f; want 0 and %.3f", k, mean, deviation, want)
		}
		x := mat.NewDense(task.X.Rows, 61, nil)
		for i := range task.X.Rows {
			x.SetRow(i, append([]float64{1}, task.X.Row(i)...))
		}
		var w, fit mat.Dense
		if err := w.Solve(x, mat.NewDense(task.X.Rows, 1, task.Y)); err != nil {
			t.Fatal(err)
		}
		fit.Mul(x, &w)
		squares := 0.0
		for i, y := range task.Y {
			squares += (fit.At(i, 0) - y) * (fit.At(i, 0) - y)
		}
		if rmse := math.Sqrt(squares / float64(task.X.Rows)); rmse < 0.95*noise || rmse > 1.1*noise {
			t.Errorf("task %d: least squares leave a root mean square error of %.3f, the noise is %.3f", k, rmse, noise)
		}
	}
	// Noise is added to the targets only.
	cfg.Synthetic.TargetNoise = 0
	clean := generate(cfg)
	for k := range set.Tasks {
		if diff := cmp.Diff(clean.Tasks[k].X, set.Tasks[k].X); diff != "" {
			t.Errorf("task %d: noise of the targets has changed the features", k)
		}
	}
}

// Tasks differ in their noise by difficulty_spread.
func TestDifficultyOfRealTargets(t *testing.T) {
	noisy := realConfig()
	noisy.Synthetic.DifficultySpread, noisy.Synthetic.TargetNoise = 0.5, 1
	clean := noisy
	clean.Synthetic.TargetNoise = 0
	a, b := generate(noisy), generate(clean)
	var logs []float64
	for k := range a.Tasks {
		squares := 0.0
		for i := range a.Tasks[k].Y {
			e := a.Tasks[k].Y[i] - b.Tasks[k].Y[i]
			squares += e * e
		}
		logs = append(logs, math.Log(squares/float64(len(a.Tasks[k].Y)))/2)
	}
	// Of 20 tasks: the standard error of a deviation of 0.5 is 0.08.
	if spread := stat.StdDev(logs, nil); spread < 0.25 || spread > 0.75 {
		t.Errorf("the logarithm of the noise varies by %.2f over tasks, want 0.5", spread)
	}
}

// A resolved configuration gives the same set and is valid, for both kinds of target.
func TestResolveRealTargets(t *testing.T) {
	cfg := realConfig()
	got := cfg.Resolve()
	if s := got.Synthetic; s.TargetNoise != small.TargetNoise || s.PositiveShare != -1 || s.Margin != -1 || s.Noise != -1 {
		t.Errorf("resolved to %+v", s)
	}
	if said := problems(got); said != nil {
		t.Error(said)
	}
	if fingerprint(generate(cfg)) != fingerprint(generate(got)) {
		t.Error("the resolved configuration gives another set")
	}
	labels := Defaults().Resolve()
	if said := problems(labels); said != nil || labels.Synthetic.TargetNoise != -1 {
		t.Errorf("labels resolve to %+v: %v", labels.Synthetic, said)
	}
}

func TestDescribeRealTargets(t *testing.T) {
	set := numbered(2, 3, 0)
	set.Real = true
	copy(set.Tasks[0].Y, []float64{1, 3})
	copy(set.Tasks[1].Y, []float64{-2, 0, 8})
	got := Describe(set)
	want := Description{
		Name: "numbered", Real: true, Tasks: 3, Features: 2, Rows: 5,
		RowsMin: 0, RowsMax: 3, RowsMean: 5.0 / 3, RowsDeviation: got.RowsDeviation,
		// squares about the mean 2: 1 + 1 + 16 + 4 + 36 = 58
		TargetMean: 2, TargetDeviation: math.Sqrt(58.0 / 5), TargetMin: -2, TargetMax: 8, TargetMeanMin: 2, TargetMeanMax: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const table = `data set           numbered
source             from a file
tasks m            3
features d         2
rows               5
rows per task      0 to 3, mean 1.7, standard deviation 1.53
real targets       -2 to 8, standard deviation 3.406
mean target        2, by task 2 to 2
zero features      0
constant features  0
`
	if diff := cmp.Diff(table, got.String()); diff != "" {
		t.Error(diff)
	}
	if d := Describe(&Set{Features: 1, Real: true}); !math.IsNaN(d.TargetMean) || !math.IsNaN(d.TargetMin) || !math.IsNaN(d.TargetMeanMax) {
		t.Errorf("a set without rows: %+v", d)
	}
}
