package learning

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

var fedProxSets = flag.Int("fedprox", 0, "data sets of each cell of the FedProx table, such as 10; 0: one cell alone")

// A cell of the table: a method and a share of stragglers. The values are means over 30 runs
// on 10 data sets with their standard deviations and standard errors, computed by a program
// that is independent of fedsim (reference/models.md, section D2): test accuracy over the rows
// of all devices and mean training loss, after 200 rounds on Synthetic(1,1).
type fedProxCell struct {
	name           string
	mu, stragglers float64
	partial        string
	accuracy, loss published
}

type published struct{ mean, deviation, standardError float64 }

var fedProxCells = []fedProxCell{
	{"FedAvg, 0 %", 0, 0, federation.Drop, published{0.8317, 0.1019, 0.0315}, published{0.9272, 0.7425, 0.2390}},
	{"FedAvg, 50 %", 0, 0.5, federation.Drop, published{0.8334, 0.1069, 0.0338}, published{0.7179, 0.5426, 0.1733}},
	{"FedAvg, 90 %", 0, 0.9, federation.Drop, published{0.7713, 0.1762, 0.0551}, published{0.8810, 0.7739, 0.2290}},
	{"FedProx mu=0, 50 %", 0, 0.5, federation.Keep, published{0.8434, 0.0896, 0.0281},
		published{0.7925, 0.5771, 0.1853}},
	{"FedProx mu=0, 90 %", 0, 0.9, federation.Keep, published{0.8522, 0.0835, 0.0263},
		published{0.7061, 0.5083, 0.1626}},
	{"FedProx mu=1, 0 %", 1, 0, federation.Keep, published{0.8960, 0.0538, 0.0175}, published{0.3194, 0.1573, 0.0515}},
	{"FedProx mu=1, 50 %", 1, 0.5, federation.Keep, published{0.8968, 0.0531, 0.0173},
		published{0.3207, 0.1579, 0.0517}},
	{"FedProx mu=1, 90 %", 1, 0.9, federation.Keep, published{0.8955, 0.0534, 0.0174},
		published{0.3223, 0.1587, 0.0520}},
}

// fedProxPairs are differences of cells on the same data, by their places in the table, with
// their standard errors there.
var fedProxPairs = []struct {
	of, from       int
	accuracy, loss published
}{
	{3, 1, published{0.0100, 0, 0.0090}, published{0.0747, 0, 0.0535}},
	{4, 2, published{0.0809, 0, 0.0318}, published{-0.1749, 0, 0.0806}},
	{5, 0, published{0.0643, 0, 0.0162}, published{-0.6078, 0, 0.2113}},
	{6, 1, published{0.0633, 0, 0.0191}, published{-0.3972, 0, 0.1377}},
	{7, 2, published{0.1242, 0, 0.0391}, published{-0.5587, 0, 0.1931}},
	{7, 4, published{0.0433, 0, 0.0105}, published{-0.3839, 0, 0.1345}},
	{2, 0, published{-0.0605, 0, 0.0302}, published{-0.0462, 0, 0.0644}},
	{7, 5, published{-0.0006, 0, 0.0006}, published{0.0029, 0, 0.0008}},
}

// fedProxRun returns the test accuracy over the rows of all devices, and the mean training
// loss of all rows, after some rounds of a cell.
func fedProxRun(t *testing.T, cell fedProxCell, seed uint64, rounds int) (accuracy, loss float64) {
	t.Helper()
	cfg := data.Defaults()
	cfg.Source, cfg.Target, cfg.TestFraction, cfg.Bias, cfg.Seed = data.SourceAlphaBeta, data.TargetClasses, 0.1, true,
		seed
	cfg.AlphaBeta.Alpha, cfg.AlphaBeta.Beta = 1, 1
	split, err := data.Prepare(cfg)
	if err != nil {
		t.Fatal(err)
	}
	problem := mtl.Defaults()
	problem.Loss, problem.Regularizer = mtl.LossSoftmax, mtl.RegIndependent
	s := Setup{
		Setup: federation.Setup{System: system(seed), Config: federation.Defaults(), Pool: parallel.NewPool(0)},
		Schedule: Schedule{Outer: 1, Rounds: rounds, EvalEvery: rounds, Optimum: math.NaN(),
			ClientMetrics: []string{"accuracy", "loss"}},
	}
	if s.Problem, err = mtl.NewProblem(problem, *split); err != nil {
		t.Fatal(err)
	}
	if s.Coupling, err = s.Problem.Regularizer.Start(s.Pool, s.Problem.Tasks()); err != nil {
		t.Fatal(err)
	}
	s.Devices.BatteryWh = batteryNone
	s.Config.Clients.Count, s.Config.PartialShare, s.Config.Partial = 10, cell.stragglers, cell.partial
	s.Factory, _ = algorithms.Lookup("fedprox")
	s.Options = s.Factory.Options()
	options, err := config.Parse("options",
		fmt.Appendf(nil, "epochs = 20\nbatch = 10\nstep = 0.01\nmu = %g\n", cell.mu))
	if err != nil {
		t.Fatal(err)
	}
	if problems := config.Decode(options, "", s.Options); len(problems) > 0 {
		t.Fatal(problems)
	}
	out := run(t, s)
	first, last := out.Rounds[0], out.Rounds[len(out.Rounds)-1]
	for _, v := range first.Metrics {
		if v.Split == "train" && v.Name == "loss" && math.Abs(v.Value-math.Log(10)) > 1e-12 {
			t.Fatalf("the loss of a model of zeros is %g, want ln 10", v.Value)
		}
	}
	accuracy, loss = math.NaN(), math.NaN()
	for _, v := range last.Metrics {
		switch v.Split + " " + v.Name {
		case "test accuracy":
			accuracy = v.Value
		case "train loss":
			loss = v.Value
		}
	}
	return accuracy, loss
}

// A cell of FedProx's experiments is as an independent program has it, within three combined
// standard errors. Without -fedprox=N it is one cell on one data set after 50 rounds, where
// the table has 0.841 and 0.515. With it, all cells run on N data sets for 200 rounds, and
// their differences on the same data are compared, too: with 10 about 10 minutes on two cores.
func TestFedProxCells(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	if *fedProxSets == 0 {
		cell := fedProxCells[7]
		accuracy, loss := fedProxRun(t, cell, 1, 50)
		// Standard deviations are those after 200 rounds, as much larger as the distance from
		// a perfect model is.
		nearCell(t, cell.name+" after 50 rounds", []float64{accuracy}, published{0.841, 0.080, 0.026}, 0.080)
		nearCell(t, cell.name+" after 50 rounds, loss", []float64{loss}, published{0.515, 0.254, 0.083}, 0.254)
		return
	}
	accuracies, losses := make([][]float64, len(fedProxCells)), make([][]float64, len(fedProxCells))
	for i, cell := range fedProxCells {
		for seed := range uint64(*fedProxSets) {
			a, l := fedProxRun(t, cell, seed+1, 200)
			accuracies[i], losses[i] = append(accuracies[i], a), append(losses[i], l)
		}
		nearCell(t, cell.name, accuracies[i], cell.accuracy, math.NaN())
		nearCell(t, cell.name+", loss", losses[i], cell.loss, math.NaN())
	}
	for _, p := range fedProxPairs {
		name := fedProxCells[p.of].name + " - " + fedProxCells[p.from].name
		nearCell(t, name, differences(accuracies[p.of], accuracies[p.from]), p.accuracy, math.NaN())
		nearCell(t, name+", loss", differences(losses[p.of], losses[p.from]), p.loss, math.NaN())
	}
}

// nearCell compares the mean of values with a published one. NaN as their standard deviation
// stands for that of the values.
func nearCell(t *testing.T, name string, values []float64, want published, deviation float64) {
	t.Helper()
	n := float64(len(values))
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if math.IsNaN(deviation) {
		deviation = math.Sqrt(squares / (n - 1))
	}
	se := deviation / math.Sqrt(n)
	combined := math.Hypot(se, want.standardError)
	apart := (mean - want.mean) / combined
	t.Logf("%-45s %+.4f (se %.4f), published %+.4f (se %.4f): %+.2f combined standard errors", name, mean, se,
		want.mean, want.standardError, apart)
	if !(math.Abs(apart) <= 3) {
		t.Errorf("%s: %.4f is not within three standard errors, %.4f, of %.4f", name, mean, 3*combined, want.mean)
	}
}

// differences returns a - b by place.
func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}
