package methods

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// textbook is a loop of the averaging methods as their papers have them, on the server's
// side in the order of sums of docs/methods.md.
type textbook struct {
	w, m, v []float64
}

// step takes the server's step along the changes of devices with weights p, of which each
// made tau steps with the normalizer norm.
func (te *textbook) step(name string, changes [][]float64, p, tau, norm []float64) {
	n, d := 0.0, make([]float64, len(te.w))
	for k, change := range changes {
		n += p[k]
		scale := p[k]
		if name == "fednova" {
			scale = p[k] * (1 / norm[k])
		}
		for j, x := range change {
			d[j] += float64(scale * x)
		}
	}
	effective := 0.0
	for k := range changes {
		effective += float64(p[k] * tau[k])
	}
	beta, beta1, beta2, eps := 0.9, 0.9, 0.99, 1e-3
	for j, x := range d {
		mean := x / n
		sign := 0.0
		switch square := mean * mean; {
		case te.v[j] > square:
			sign = 1
		case te.v[j] < square:
			sign = -1
		}
		switch name {
		case "fednova":
			te.w[j] += float64(effective / n / n * x)
			continue
		case "fedavgm":
			te.v[j] = float64(beta*te.v[j]) + mean
			te.w[j] += te.v[j]
			continue
		case "fedadagrad":
			te.m[j] = mean
			te.v[j] += float64(mean * mean)
		case "fedadam":
			te.m[j] = float64(beta1*te.m[j]) + float64((1-beta1)*mean)
			te.v[j] = float64(beta2*te.v[j]) + float64((1-beta2)*float64(mean*mean))
		case "fedyogi":
			te.m[j] = float64(beta1*te.m[j]) + float64((1-beta1)*mean)
			te.v[j] -= float64((1-beta2)*float64(mean*mean)) * sign
		}
		te.w[j] += float64(0.1*te.m[j]) / (math.Sqrt(te.v[j]) + eps)
	}
}

// Rounds on devices of different sizes, with all and with some responses, are the loops of
// the papers: the changes of devices to rounding, the server's step bit for bit.
func TestAveragingMethodsAreTheirTextbookLoops(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, name := range []string{"fedavgm", "fedadagrad", "fedadam", "fedyogi", "fednova"} {
		for _, local := range []kit.LocalSGDOptions{
			{Epochs: 2, Batch: 4, Step: 0.1, L2: 0.01, Shuffle: true},
			{Epochs: 1.5, Batch: 4, Step: 0.1, Momentum: 0.6, Shuffle: true},
		} {
			mu := 0.0
			a := start(t, name, p, c, func(o algorithms.Options) {
				*o.(kit.LocalOptions).Local() = local
				if o, ok := o.(*fedNovaOptions); ok && local.Momentum == 0 {
					o.Mu, mu = 0.2, 0.2
				}
			})
			b := textbook{w: make([]float64, 9), m: make([]float64, 9), v: make([]float64, 9)}
			if name == "fedadagrad" || name == "fedadam" || name == "fedyogi" {
				for j := range b.v {
					b.v[j] = 1e-3 * 1e-3
				}
			}
			for h := range 12 {
				a.Begin()
				var changes [][]float64
				var weights, tau, norm []float64
				for k, rows := range []int{14, 5, 30} {
					a.Solve(request(k, h, algorithms.NoLimit, 0))
					change := a.(algorithms.Inspected).Update(k).Values
					u := slowSteps(p, local, k, h, local.Step, mu, b.w, nil)
					for j := range u {
						u[j] -= b.w[j]
					}
					nearVector(t, name+", change", change, u, 1e-12)
					if h%3 == 1 && k == 1 {
						a.Discard(k)
						continue
					}
					changes, weights = append(changes, slices.Clone(change)), append(weights, float64(rows))
					passes, rest := int(local.Epochs), int(math.Ceil(local.Epochs*float64(rows)))%rows
					steps := float64(passes*((rows+3)/4) + (rest+3)/4)
					tau = append(tau, steps)
					switch rho, q := local.Momentum, local.Step*mu; {
					case rho > 0:
						norm = append(norm, (steps-rho*(1-math.Pow(rho, steps))/(1-rho))/(1-rho))
					case q > 0:
						norm = append(norm, (1-math.Pow(1-q, steps))/q)
					default:
						norm = append(norm, steps)
					}
				}
				for k := range 3 {
					if h%3 != 1 || k != 1 {
						a.Commit(k, 1)
					}
				}
				a.End()
				b.step(name, changes, weights, tau, norm)
				got := a.Model().W.Row(0)
				if name == "fednova" { // its normalizers are sums, not the closed forms
					nearVector(t, name, got, b.w, 1e-12)
					copy(b.w, got)
				}
				for j, x := range got {
					expect.Must(t, math.Float64bits(x) == math.Float64bits(b.w[j]),
						"%s, round %d: w[%d] = %.17g, of the textbook %.17g", name, h, j, x, b.w[j])
				}
			}
		}
	}
}

// A server step costs what docs/methods.md says.
func TestFLOPsOfServerSteps(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for name, step := range map[string]float64{"fedavg": 2, "fedavgm": 5, "fedadagrad": 11, "fedadam": 13,
		"fedyogi": 12, "fednova": 2} {
		a := start(t, name, p, c, smaller)
		a.Begin()
		for k := range 3 {
			a.Solve(request(k, 0, algorithms.NoLimit, 0))
			a.Commit(k, 1)
		}
		want := (3*2 + step) * 9
		got, _ := a.End()
		expect.That(t, got == want, "%s: %g FLOPs of the server, want %g", name, got, want)
	}
}

// On devices with equal steps FedNova is FedAvg, for softmax and networks, and with any local
// solver where tau_eff has the normalizers.
func TestFedNovaWithEqualStepsIsFedAvg(t *testing.T) {
	for _, change := range []func(*mtl.Config){nil, deep} {
		for _, momentum := range []float64{0, 0.6} {
			p, c := problemOn(t, sines(), change)
			set := func(o algorithms.Options) {
				*o.(kit.LocalOptions).Local() = kit.LocalSGDOptions{Epochs: 3, Step: 0.1, Momentum: momentum}
				if o, ok := o.(*fedNovaOptions); ok && momentum > 0 {
					o.TauEff = effectiveWeights
				}
			}
			avg, nova := start(t, "fedavg", p, c, set), start(t, "fednova", p, c, set)
			for h := range 5 {
				round(avg, p, h, algorithms.NoLimit, nil)
				round(nova, p, h, algorithms.NoLimit, nil)
				nearVector(t, "w", nova.Model().W.Row(0), avg.Model().W.Row(0), 1e-13)
			}
		}
	}
}
