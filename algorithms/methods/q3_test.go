package methods

import (
	"fmt"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// q3Steps are the local steps of the devices of quadratics in the traces with uneven steps.
var q3Steps = []int{2, 5, 10}

// q3Reference returns the reference values on q3, by case and quantity.
func q3Reference(t testing.TB) map[string]map[string]float64 {
	t.Helper()
	values := map[string]map[string]float64{}
	for _, row := range filetest.Rows(t, "testdata/q3.csv")[1:] {
		if values[row[1]] == nil {
			values[row[1]] = map[string]float64{}
		}
		values[row[1]][row[2]] = filetest.Number(t, row[3])
	}
	return values
}

// q3Round runs a round in which each device takes so many steps on all of its rows.
func q3Round(a algorithms.Algorithm, p *mtl.Problem, h int, steps []int) {
	a.Begin()
	for k := range p.Clients() {
		a.Solve(request(k, h, steps[k]*p.Train.Clients[k].X.Rows, 0))
	}
	for k := range p.Clients() {
		a.Commit(k, 1)
	}
	a.End()
}

// q3Local are steps on all rows, as many as the requests allow.
func q3Local(step float64) kit.LocalSGDOptions {
	return byRowsOf(kit.LocalSGDOptions{Step: step}).LocalSGDOptions
}

// Five rounds of every method of a server's step, of FedProx and of FedNova have the values
// of a program that computes with 60 digits.
func TestTracesOnQ3(t *testing.T) {
	p, c := problemOn(t, quadratics(), squared)
	reference := q3Reference(t)
	even := []int{3, 3, 3}
	adaptive := func(start float64) func(algorithms.Options) {
		return func(o algorithms.Options) {
			switch o := o.(type) {
			case *adaptiveOptions:
				o.VStart = start
			case *decayingOptions:
				o.VStart = start
			}
		}
	}
	for _, trace := range []struct {
		of, name string
		steps    []int
		set      func(algorithms.Options)
	}{
		{"fedavg K = 3, eta_l = 0.1", "fedavg", even, nil},
		{"fedavg-uneven K = [2, 5, 10], eta_l = 0.1", "fedavg", q3Steps, nil},
		{"fednova K = [2, 5, 10], eta_l = 0.1", "fednova", q3Steps, nil},
		{"fedprox K = 3, eta_l = 0.1, mu = 0.5", "fedprox", even,
			func(o algorithms.Options) { o.(*fedProxOptions).Mu = 0.5 }},
		{"fedavgm K = 3, eta_l = 0.1, beta = 0.9, eta = 1", "fedavgm", even, nil},
		{"fedadagrad K = 3, eta_l = 0.1, beta1 = 0, eta = 0.1, tau = 0.001", "fedadagrad", even, nil},
		{"fedadam K = 3, eta_l = 0.1, beta1 = 0.9, beta2 = 0.99, eta = 0.1, tau = 0.001", "fedadam", even, nil},
		{"fedyogi K = 3, eta_l = 0.1, beta1 = 0.9, beta2 = 0.99, eta = 0.1, tau = 0.001", "fedyogi", even, nil},
		{"fedadam-v0 K = 3, eta_l = 0.1, beta1 = 0.9, beta2 = 0.99, eta = 0.1, tau = 0.001", "fedadam", even,
			adaptive(0)},
		{"fedyogi-v0 K = 3, eta_l = 0.1, beta1 = 0.9, beta2 = 0.99, eta = 0.1, tau = 0.001", "fedyogi", even,
			adaptive(0)},
	} {
		want := reference[trace.of]
		expect.Must(t, len(want) == 15, "%s has %d values", trace.of, len(want))
		a := start(t, trace.name, p, c, func(o algorithms.Options) {
			*o.(kit.LocalOptions).Local() = q3Local(0.1)
			if trace.set != nil {
				trace.set(o)
			}
		})
		for h := 1; h <= 5; h++ {
			q3Round(a, p, h, trace.steps)
			w := a.Model().W.Row(0)
			for i, got := range []float64{w[0], w[1], meanLoss(p, 0, w)} {
				quantity := fmt.Sprintf("round %d %s", h, []string{"w0", "w1", "loss"}[i])
				expect.That(t, near(got, want[quantity], 1e-12),
					"%s, %s: %.17g, want %.17g", trace.of, quantity, got, want[quantity])
			}
		}
	}
}

// FedAvg and FedNova with uneven steps end at their fixed points, which are in closed form.
func TestFixedPointsOnQ3(t *testing.T) {
	p, c := problemOn(t, quadratics(), squared)
	reference := q3Reference(t)
	for _, point := range []struct {
		name, of string
		step     float64
		rounds   int
	}{
		{"fedavg", "Q3 FedAvg eta=1/10", 0.1, 300},
		{"fednova", "Q3 FedNova eta=1/10", 0.1, 300},
		{"fedavg", "Q3 FedAvg eta=1/100", 0.01, 2000},
		{"fednova", "Q3 FedNova eta=1/100", 0.01, 2000},
		{"fedavg", "Q3 FedAvg eta=1/1000", 0.001, 20000},
		{"fednova", "Q3 FedNova eta=1/1000", 0.001, 20000},
	} {
		a := start(t, point.name, p, c,
			func(o algorithms.Options) { *o.(kit.LocalOptions).Local() = q3Local(point.step) })
		for h := range point.rounds {
			q3Round(a, p, h, q3Steps)
		}
		w, want := a.Model().W.Row(0), reference[point.of]
		for i, got := range []float64{w[0], w[1], meanLoss(p, 0, w)} {
			x := want[[]string{"w0", "w1", "loss"}[i]]
			expect.That(t, near(got, x, 1e-10) && x != 0, "%s: value %d is %.17g, want %.17g", point.of, i, got, x)
		}
	}
}

// The normalizers of FedNova have the closed forms of plain steps, momentum and a proximal
// term, and together they are the sizes of the weights of gradients in local steps.
func TestFedNovaNormalizers(t *testing.T) {
	reference := q3Reference(t)
	for _, n := range []struct {
		of, quantity string
		tau          int
		rho, q       float64
	}{
		{"rho=0.9 tau=5", "fednova momentum normaliser", 5, 0.9, 0},
		{"rho=0.9 tau=10", "fednova momentum normaliser", 10, 0.9, 0},
		{"q=0.01 tau=20", "fednova proximal normaliser", 20, 0, 0.01},
	} {
		if got, want := normalizer(n.tau, n.rho, n.q), reference[n.of][n.quantity]; !near(got, want, 1e-13) ||
			want == 0 {
			t.Errorf("%s: %.17g, want %.17g", n.of, got, want)
		}
	}
	if got := normalizer(7, 0, 0); got != 7 {
		t.Errorf("7 plain steps have the normalizer %g", got)
	}
	// Constant gradients of one step only, in turn: what each leaves in the change.
	const tau, rho, eta, mu = 12, 0.9, 0.1, 0.8
	want, signed := 0.0, false
	for at := range tau {
		u, v := 0.0, 0.0
		for i := range tau {
			g := mu * u
			if i == at {
				g++
			}
			v = rho*v + g
			u -= eta * v
		}
		want += math.Abs(u) / eta
		signed = signed || u > 0
	}
	if got := normalizer(tau, rho, eta*mu); !near(got, want, 1e-13) {
		t.Errorf("momentum and a proximal term: %.17g, want %.17g", got, want)
	}
	expect.That(t, signed, "no weight is negative: the test shows less than it should")
}
