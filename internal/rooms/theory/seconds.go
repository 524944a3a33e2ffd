package theory

import (
	"fmt"
	"math"
	"slices"

	"fedsim/mtl"
)

// Descent are the constants of theorems about the seconds that stochastic gradient descent takes until
// E|grad f(w)|^2 is at most eps, for f = sum_k p_k F_k of losses that are not negative, and of one model.
// Device k needs at most Tau[k] seconds for a gradient.
//
// The theorems that have no smaller constants are about devices with the same data, F_k = f.
type Descent struct {
	L      float64   // f is L-smooth: an upper bound, the mean of those of the F_k
	LTable float64   // L of Ringleader ASGD: the root of the mean of the squares of those of the F_k
	Delta  float64   // an upper bound of f(w_0) - inf f: f(w_0)
	Noise2 float64   // sigma^2, the variance of a gradient that a device sends; measured
	Bias2  float64   // the largest |grad F_k - grad f|^2, 0 with the same data everywhere; measured
	Eps    float64   // the target
	Tau    []float64 // seconds by device, in increasing order
}

// DescentOf returns L and Delta of a problem, with such a weight of each device and the term l2/2 |w|^2.
func DescentOf(p *mtl.Problem, weight func(device int) float64, l2 float64) (*Descent, error) {
	if p.Config.Model != mtl.ModelLinear || p.Loss == nil || p.Loss.Traits().Smoothness <= 0 {
		return nil, fmt.Errorf("the bounds in seconds hold for linear models whose loss of one score is smooth")
	}
	d, whole := &Descent{}, 0.0
	w := make([]float64, p.Values())
	for k := range p.Train.Clients {
		high, err := largestEigenvalue(p, k)
		if err != nil {
			return nil, err
		}
		l := high/(float64(p.Train.Clients[k].X.Rows)*p.Loss.Traits().Smoothness) + l2
		whole += weight(k)
		d.L += float64(weight(k) * l)
		d.LTable += float64(weight(k) * float64(l*l))
		d.Delta += float64(weight(k) * p.LocalLoss(k, w))
	}
	d.L, d.LTable, d.Delta = d.L/whole, math.Sqrt(d.LTable/whole), d.Delta/whole
	return d, nil
}

// Seconds is the bound of a theorem for a method with such a step size.
type Seconds struct {
	Step    float64 // the largest step size gamma for which there is a bound; NaN: not known
	Steps   float64 // server steps until the target; +Inf: no bound holds for the step size
	Seconds float64 // the time that they take at most
	Order   float64 // the time of the theorem up to a constant factor, for the best parameters; NaN: not known
}

// unknown is the result for a method whose theorem could not be read.
func unknown() Seconds { return Seconds{math.NaN(), math.NaN(), math.NaN(), math.NaN()} }

// Gathering returns a time within which the devices compute so many gradients that they begin in it: in t
// seconds, device k ends at least floor(t/tau_k) - 1 >= t/tau_k - 2 beside that which it was at. So for every m,
// the m fastest are enough, with
//
//	t = (gradients + 2m) / sum_{k <= m} 1/tau_k.
//
// Devices that begin at once, at no other gradient, end t/tau_k - 1 at least: there is m in the place of 2m.
func (d *Descent) Gathering(gradients float64, atOnce bool) float64 {
	best, rate, lost := math.Inf(1), 0.0, 2.0
	if atOnce {
		lost = 1
	}
	for m, tau := range d.Tau {
		rate += 1 / tau
		best = min(best, (gradients+float64(lost*float64(m+1)))/rate)
	}
	return best
}

// sameData returns min_m H_m (L Delta/eps + sigma^2 L Delta/(m eps^2)), with the harmonic mean H_m of the m smallest
// tau: the optimal time for devices with the same data, up to a constant factor, which Rennala SGD and Ringmaster
// ASGD attain (Tyurin, Richtarik, NeurIPS 2023, as in eq. 2 of Tyurin, ICLR 2026).
func (d *Descent) sameData() float64 {
	best := math.Inf(1)
	for m := range d.Tau {
		best = min(best, d.fastest(m+1))
	}
	return best
}

// fastest is sameData for the m fastest devices alone.
func (d *Descent) fastest(m int) float64 {
	rate, work := 0.0, d.L*d.Delta/d.Eps
	for _, tau := range d.Tau[:m] {
		rate += 1 / tau
	}
	return float64(m) / rate * (work + work*d.variance()/(float64(m)*d.Eps))
}

// variance bounds the mean of |g - grad f|^2 for the gradient g of a device.
func (d *Descent) variance() float64 { return d.Noise2 + d.Bias2 }

// Rennala returns the bound of Rennala SGD, whose steps are along means of B gradients at the present w.
// For gamma <= 1/L the descent lemma gives, with the variance sigma^2/B of a mean,
//
//	E f(w_{h+1}) <= E f(w_h) - gamma/2 E|grad f(w_h)|^2 + L gamma^2 sigma^2/(2B),
//
// so the mean of E|grad f(w_h)|^2 over K steps is at most 2 Delta/(gamma K) + L gamma sigma^2/B. With stops, all
// devices begin anew behind each step.
func (d *Descent) Rennala(gamma float64, batch int, stops bool) Seconds {
	noise := d.L * d.variance() / float64(batch) // times gamma
	s := Seconds{Step: min(1/d.L, d.Eps/noise), Steps: math.Inf(1), Order: d.sameData()}
	if rest := d.Eps - float64(gamma*noise); gamma <= 1/d.L && rest > 0 {
		s.Steps = math.Ceil(2 * d.Delta / (gamma * rest))
	}
	s.Seconds = s.Steps * d.Gathering(float64(batch), stops)
	return s
}

// Ringmaster returns the bound of Ringmaster ASGD, whose gradients are at models of fewer than R steps ago: with
// gamma = min(1/(2L), 1/(2(R-1)L), eps/(4 sigma^2 L)) the mean of E|grad f(w_h)|^2 over K steps is at most eps for
//
//	K >= 4 R L Delta/eps + 8 sigma^2 L Delta/eps^2
//
// (Tyurin, Birch SGD, ICLR 2026, theorem 2.4, from a note on the paper). f is L'-smooth for every L' >= L: so
// for a smaller gamma the bound has L' = L gamma_max/gamma. R steps are taken within the time for R gradients
// that are begun in it: of them none is refused, or stopped, before there were R steps. A stop before that only lets
// a device begin earlier, so the bound is for both variants.
func (d *Descent) Ringmaster(gamma float64, refuse int) Seconds {
	s := d.delayed(gamma, float64(refuse))
	s.Seconds = math.Ceil(s.Steps/float64(refuse)) * d.Gathering(float64(refuse), false)
	return s
}

// Asynchronous returns the bound of asynchronous SGD: that of Ringmaster ASGD with an R that refuses nothing, for
// devices that need tau_k seconds for every gradient. During one of the slowest, device j ends at
// most floor(tau_n/tau_j) + 1. There are K steps after (K + n) / sum_k 1/tau_k seconds. Up to a constant factor, the
// time is that of sameData for m = n (Tyurin, ICLR 2026, section 1.1).
func (d *Descent) Asynchronous(gamma float64) Seconds {
	slowest, delays, rate := d.Tau[len(d.Tau)-1], 0.0, 0.0
	for i, tau := range d.Tau {
		if rate += 1 / tau; i < len(d.Tau)-1 {
			delays += math.Floor(slowest/tau) + 1
		}
	}
	s := d.delayed(gamma, delays+1)
	s.Seconds, s.Order = (s.Steps+float64(len(d.Tau)))/rate, d.fastest(len(d.Tau))
	return s
}

// delayed returns the steps of methods whose gradients are at models of fewer than r steps ago.
func (d *Descent) delayed(gamma, r float64) Seconds {
	s := Seconds{Step: min(1/(2*d.L), 1/(2*(r-1)*d.L), d.Eps/(4*d.variance()*d.L)), Steps: math.Inf(1),
		Order: d.sameData()}
	if gamma <= s.Step {
		work := d.L * (s.Step / gamma) * d.Delta / d.Eps
		s.Steps = math.Ceil(float64(4*r*work) + float64(8*d.variance()*work/d.Eps))
	}
	return s
}

// Ringleader returns the bound of Ringleader ASGD: the time up to a constant factor,
//
//	L Delta/eps (tau_n + sigma^2/(n eps) mean of tau)
//
// (Maranjyan, Richtarik, ICLR 2026, from a note on the paper).
func (d *Descent) Ringleader() Seconds {
	s, n := unknown(), float64(len(d.Tau))
	mean := 0.0
	for _, tau := range d.Tau {
		mean += tau / n
	}
	s.Order = d.LTable * d.Delta / d.Eps * (slices.Max(d.Tau) + mean*d.Noise2/(n*d.Eps))
	return s
}

// Rescaled returns no bound of Rescaled ASGD, since its theorem could not be read.
func (d *Descent) Rescaled() Seconds { return unknown() }
