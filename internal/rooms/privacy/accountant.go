package privacy

import (
	"math"

	"fedsim/algorithms"
	"fedsim/internal/tools/elementary"
)

// Accountant adds up the privacy that the rounds of a run spend: the Renyi differential
// privacy of each (Mironov, CSF 2017), at fixed orders, which it converts to (epsilon, delta).
// Gaussian noise on the sum of a Poisson sample: Mironov, Talwar, Zhang: Renyi Differential
// Privacy of the Sampled Gaussian Mechanism, 2019. On that of a sample of fixed size: Wang,
// Balle, Kasiviswanathan: Subsampled Renyi Differential Privacy and Analytical Moments
// Accountant, AISTATS 2019, Theorem 27.
type Accountant struct {
	delta      float64
	accounting string
	spent      []float64            // by order
	known      map[spend][]float64  // by order, of a round
	differs    map[float64][]signed // see differences
}

// spend is the part of a round that its privacy depends on.
type spend struct{ rate, noise float64 }

// orders are those of Google's dp-accounting: 1.1 to 10.9 in tenths, 11 to 63, and four
// larger.
var orders = func() (all []float64) {
	for i := 1; i < 100; i++ {
		all = append(all, 1+float64(i)/10)
	}
	for i := 11; i < 64; i++ {
		all = append(all, float64(i))
	}
	return append(all, 128, 256, 512, 1024)
}()

// NewAccountant returns the accountant of a run whose rounds are for cohort responses, each with an update of some
// values; nil: there is no noise.
func (cfg *Config) NewAccountant(values, cohort int) algorithms.Accountant {
	if !cfg.Noisy() {
		return nil
	}
	return &ofCohorts{NewAccountant(cfg.Delta, cfg.Accounting), cfg.Noise * cfg.Clip / cfg.Sensitivity(values),
		float64(cohort), cfg.Mechanism == Distributed}
}

// ofCohorts is the accountant of a run.
type ofCohorts struct {
	*Accountant
	noise, cohort float64
	shared        bool // each response has a share of the noise
}

// Add adds a round.
func (a *ofCohorts) Add(rate float64, taken int) {
	noise := a.noise
	if a.shared {
		noise *= math.Sqrt(float64(taken) / a.cohort)
	}
	a.Accountant.Add(rate, noise)
}

// NewAccountant returns an accountant of no rounds.
func NewAccountant(delta float64, accounting string) *Accountant {
	return &Accountant{
		delta: delta, accounting: accounting, spent: make([]float64, len(orders)),
		known: map[spend][]float64{}, differs: map[float64][]signed{},
	}
}

// Add adds a round in which each client was in the cohort at a rate in (0, 1], and in which
// the standard deviation of the noise on the sum was a multiple of the largest norm of an
// update.
func (a *Accountant) Add(rate, noise float64) {
	if a.accounting == None {
		rate = 1
	}
	if a.accounting == Fixed {
		noise /= 2 // two updates of norm clip differ by up to twice that
	}
	round, ok := a.known[spend{rate, noise}]
	if !ok {
		round = make([]float64, len(orders))
		for i, order := range orders {
			round[i] = a.renyi(rate, noise, order)
		}
		a.known[spend{rate, noise}] = round
	}
	for i := range a.spent {
		a.spent[i] += round[i]
	}
}

// Epsilon returns the epsilon that the rounds guarantee with the delta: the least over the
// orders of the conversion by Canonne, Kamath, Steinke: The Discrete Gaussian for Differential
// Privacy, NeurIPS 2020, Proposition 12. Infinite: there is no guarantee.
func (a *Accountant) Epsilon() float64 {
	least := math.Inf(1)
	for i, order := range orders {
		r := a.spent[i]
		epsilon := r + elementary.Log1p(-1/order) - elementary.Log(a.delta*order)/(order-1)
		if float64(a.delta*a.delta)+elementary.Expm1(-r) > 0 {
			epsilon = 0 // the total variation is at most delta, by the Kullback-Leibler divergence
		}
		least = min(least, epsilon)
	}
	return max(0, least)
}

// renyi returns the Renyi divergence of an order that a round spends.
func (a *Accountant) renyi(rate, noise, order float64) float64 {
	switch {
	case noise == 0:
		return math.Inf(1)
	case rate >= 1:
		return order / (2 * noise * noise)
	case a.accounting == Poisson && order == math.Floor(order):
		return sampledWhole(rate, noise, int(order)) / (order - 1)
	case a.accounting == Poisson:
		return sampledFraction(rate, noise, order) / (order - 1)
	}
	low := math.Floor(order)
	cumulant := a.fixedSize(rate, noise, int(low))
	if part := order - low; part > 0 { // it is convex in the order
		cumulant = float64((1-part)*cumulant) + float64(part*a.fixedSize(rate, noise, int(low)+1))
	}
	return cumulant / (order - 1)
}

// sampledWhole returns the log of A_alpha of the sampled Gaussian mechanism for a whole order
// (Mironov et al., section 3.3): sum_k C(alpha,k) (1-q)^(alpha-k) q^k exp((k^2-k)/(2 z^2)).
func sampledWhole(q, z float64, alpha int) float64 {
	sum, choose := math.Inf(-1), 0.0
	logQ, logRest := elementary.Log(q), elementary.Log1p(-q)
	for k := range alpha + 1 {
		n := float64(k)
		sum = logAdd(sum, choose+float64(n*logQ)+float64(float64(alpha-k)*logRest)+float64((float64(n*n)-n)/(2*z*z)))
		choose += elementary.Log(float64(alpha-k) / (n + 1))
	}
	return sum
}

// sampledFraction is sampledWhole for another order: two series of integrals up to z0 and
// beyond, with binomial coefficients by their size, which bounds it from above. It is
// infinite if they do not converge.
func sampledFraction(q, z, alpha float64) float64 {
	logQ, logRest := elementary.Log(q), elementary.Log1p(-q)
	z0 := float64(z*z*elementary.Log(1/q-1)) + 0.5
	sum, choose := math.Inf(-1), 0.0
	last0, last1 := math.Inf(-1), math.Inf(-1)
	for k := range 1000 {
		i := float64(k)
		j := alpha - i
		s0 := choose + float64(i*logQ) + float64(j*logRest) + float64((float64(i*i)-i)/(2*z*z)) +
			logErfc((i-z0)/(math.Sqrt2*z)) - math.Ln2
		s1 := choose + float64(j*logQ) + float64(i*logRest) + float64((float64(j*j)-j)/(2*z*z)) +
			logErfc((z0-j)/(math.Sqrt2*z)) - math.Ln2
		sum = logAdd(sum, logAdd(s0, s1))
		if s0 < last0 && s1 < last1 && max(s0, s1) < sum-30 {
			return sum
		}
		last0, last1 = s0, s1
		choose += elementary.Log(math.Abs(j) / (i + 1))
	}
	return math.Inf(1)
}

// mostExact is the largest order at which fixedSize uses differences; beyond, they would take
// long.
const mostExact = 256

// fixedSize returns the bound on (alpha - 1) times the Renyi divergence under samples of a
// fixed size (Wang et al., Theorem 27):
//
//	log(1 + sum_j q^j C(alpha,j) b_j),  b_j = min(4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), 2 exp(g(j-1)))
//
// with g(x) = x (x+1)/(2 z^2), and B(l) the l-th forward difference of exp g at -1.
func (a *Accountant) fixedSize(q, z float64, alpha int) float64 {
	if alpha < 2 {
		return 0
	}
	g := func(x int) float64 { return float64(x) * float64(x+1) / (2 * z * z) }
	var b []signed
	if alpha <= mostExact {
		b = a.differences(z, g)
	}
	sum, logQ := 0.0, elementary.Log(q)
	choose := elementary.Log(float64(alpha))
	for j := 2; j <= alpha; j++ {
		choose += elementary.Log(float64(alpha-j+1) / float64(j))
		most := math.Ln2 + g(j-1)
		switch {
		case j == 2:
			most = min(most, 2*math.Ln2+elementary.Log(elementary.Expm1(g(1))))
		case b != nil:
			most = min(most, 2*math.Ln2+float64(0.5*(b[j/2*2].log+b[(j+1)/2*2].log)))
		}
		sum = logAdd(sum, float64(float64(j)*logQ)+choose+most)
	}
	return sum
}

// signed is a number by its logarithm.
type signed struct {
	log      float64
	negative bool
}

// differences returns the forward differences of exp g at -1 up to those that fixedSize needs.
func (a *Accountant) differences(z float64, g func(int) float64) []signed {
	if b, ok := a.differs[z]; ok {
		return b
	}
	row := make([]signed, mostExact+2)
	for x := range row {
		row[x].log = g(x - 1)
	}
	b := make([]signed, len(row))
	for l := range b {
		b[l] = row[0]
		for x := range len(row) - l - 1 {
			row[x] = minus(row[x+1], row[x])
		}
	}
	a.differs[z] = b
	return b
}

// minus returns x - y.
func minus(x, y signed) signed {
	if x.negative != y.negative {
		return signed{logAdd(x.log, y.log), x.negative}
	}
	if x.log < y.log {
		return signed{y.log + elementary.Log1p(-elementary.Exp(x.log-y.log)), !x.negative}
	}
	if x.log == y.log {
		return signed{math.Inf(-1), false}
	}
	return signed{x.log + elementary.Log1p(-elementary.Exp(y.log-x.log)), x.negative}
}

// logAdd returns log(exp(x) + exp(y)).
func logAdd(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(y, -1) || math.IsInf(x, 1) {
		return x
	}
	return x + elementary.Log1p(elementary.Exp(y-x))
}

// logErfc returns the log of the complementary error function: by the series of erf near 0,
// and the continued fraction of erfc beyond (Abramowitz, Stegun: 7.1.6 and 7.1.14).
func logErfc(x float64) float64 {
	square := float64(x * x)
	if x > 2 {
		f := x
		for n := 100; n > 0; n-- {
			f = x + float64(n)/2/f
		}
		return -square - elementary.Log(f) - logSqrtPi
	}
	if x < -6 {
		return math.Ln2 // to the last bit
	}
	if x < -2 {
		return elementary.Log(2 - elementary.Exp(logErfc(-x)))
	}
	term := x
	sum := x
	for n := 1; n < 100; n++ {
		term = float64(term * (2 * square / float64(2*n+1)))
		sum += term
	}
	return elementary.Log1p(-2 * elementary.Exp(-square-logSqrtPi) * sum)
}

const logSqrtPi = 0.57236494292470008707171367567652935582 // log(pi)/2
