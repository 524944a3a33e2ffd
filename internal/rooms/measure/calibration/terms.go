package calibration

import (
	"math"
	"slices"

	"fedsim/internal/tools/nnls"
	"fedsim/internal/tools/orderstat"
)

// sample is a measured duration of a client, and the regressors that explain it.
type sample struct {
	y      float64   // measured, s
	x      []float64 // by term; y is about factor of the client times the sum of coefficient times x
	client int       // within the model
	round  int       // among all rounds of the log
}

// model explains samples by coefficients of terms, at least 0, and a factor of each client:
//
//	y = s_i (sum_k b_k x_k) e,  e of mean 1.
//
// The factors have the geometric mean 1. A model of one client has the factor 1.
type model struct {
	terms   []int // in use, indices of sample.x, in ascending order; the others have the coefficient 0
	clients int
	samples []sample
	whole   *fitted // by all samples, once it is known
}

// fitted are the coefficients, by index of sample.x, and the factors of clients; a factor is NaN
// if the client has no samples.
type fitted struct {
	b, s []float64
}

// predict returns the duration of a sample.
func (f *fitted) predict(v *sample) float64 {
	sum := 0.0
	for k, b := range f.b {
		if b != 0 {
			sum += float64(b * v.x[k])
		}
	}
	return float64(f.s[v.client] * sum)
}

const (
	// leastIndependent is the least length of a column beyond those before it, as a share of its
	// own length, with which its coefficient is identified.
	leastIndependent = 0.01
	// tuning is the number of standard deviations up to which a relative error has its full
	// weight (Huber 1964): with normal errors 98.8 % have it.
	tuning = 2.5

	mostIterations = 200
	// converged is the relative change of the estimates at which iterations end.
	converged = 1e-12
	// resampleIterations is the number of iterations of a resample, which start from the estimate of the
	// whole log.
	resampleIterations = 6
)

// identify returns the terms that the samples tell apart, of those in order, which are tried in
// this order. The first is always identified if it is positive: it has the scale of all others.
//
// The rank is that of the linearized problem: columns x_k/x_0, centered for each client, whose
// factor is free.
func identify(samples []sample, clients int, order []int) []int {
	var found []int
	var basis [][]float64
	for _, k := range order {
		if !slices.ContainsFunc(samples, func(v sample) bool { return v.x[k] != 0 }) {
			continue
		}
		if len(found) == 0 {
			found = append(found, k)
			continue
		}
		column := make([]float64, len(samples))
		length := 0.0
		for i := range samples {
			column[i] = samples[i].x[k] / samples[i].x[found[0]]
			length = math.Hypot(length, column[i])
		}
		center(column, samples, clients)
		for range 2 { // twice is enough (Kahan, Parlett)
			for _, e := range basis {
				project(column, e)
			}
		}
		if left := norm(column); left > leastIndependent*length {
			for i := range column {
				column[i] /= left
			}
			basis = append(basis, column)
			found = append(found, k)
		}
	}
	slices.Sort(found)
	return found
}

// center subtracts from each value the mean of its client.
func center(column []float64, samples []sample, clients int) {
	sum, n := make([]float64, clients), make([]float64, clients)
	for i, v := range column {
		sum[samples[i].client] += v
		n[samples[i].client]++
	}
	for i := range column {
		column[i] -= sum[samples[i].client] / n[samples[i].client]
	}
}

// project subtracts from a column its part in the direction e of length 1.
func project(column, e []float64) {
	dot := 0.0
	for i := range e {
		dot += float64(e[i] * column[i])
	}
	for i := range e {
		column[i] -= float64(dot * e[i])
	}
}

func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum = math.Hypot(sum, x)
	}
	return sum
}

// fit estimates a model by iteratively reweighted nonnegative least squares on relative errors
// y/m - 1, m being the prediction of the previous iteration, with Huber's weights. count has the
// weight of each round; nil: 1. So the estimate of a mean is not biased by errors that multiply,
// and a single outlier pulls like an error of 2.5 standard deviations.
func (m *model) fit(count []float64) fitted {
	if count == nil && m.whole != nil {
		return *m.whole
	}
	weight := func(i int) float64 { return weightOf(count, m.samples[i].round) }
	var used []int
	for i := range m.samples {
		if weight(i) > 0 {
			used = append(used, i)
		}
	}
	f := fitted{b: make([]float64, len(m.samples[0].x)), s: make([]float64, m.clients)}
	if len(used) < len(m.terms) || len(used) == 0 {
		for i := range f.b {
			f.b[i] = math.NaN()
		}
		return f
	}
	predicted, huber := make([]float64, len(used)), make([]float64, len(used))
	most := mostIterations
	if count == nil {
		m.start(&f, used)
		for j, i := range used {
			predicted[j], huber[j] = m.samples[i].y, 1
		}
	} else {
		whole := m.fit(nil)
		f, most = fitted{slices.Clone(whole.b), slices.Clone(whole.s)}, resampleIterations
		m.reweigh(&f, used, predicted, huber)
	}
	for range most {
		before := slices.Concat(f.b, f.s)
		m.coefficients(&f, used, predicted, huber, weight)
		m.factors(&f, used, huber, weight)
		m.reweigh(&f, used, predicted, huber)
		if count == nil && change(before, slices.Concat(f.b, f.s)) < converged {
			break
		}
	}
	if count == nil {
		m.whole = &f
	}
	return f
}

// start sets the factors of clients to the mean ratio of their samples to the first term.
func (m *model) start(f *fitted, used []int) {
	n := make([]float64, m.clients)
	for _, i := range used {
		v := &m.samples[i]
		f.s[v.client] += math.Log(v.y / math.Abs(v.x[m.terms[0]]))
		n[v.client]++
	}
	for c := range f.s {
		f.s[c] = math.Exp(f.s[c] / n[c]) // NaN without samples
	}
	m.normalize(f)
}

// normalize divides the factors by their geometric mean, and multiplies the coefficients by it.
func (m *model) normalize(f *fitted) {
	sum, n := 0.0, 0.0
	for _, s := range f.s {
		if !math.IsNaN(s) {
			sum += math.Log(s)
			n++
		}
	}
	mean := math.Exp(sum / n)
	for c := range f.s {
		f.s[c] /= mean
	}
	for k := range f.b {
		f.b[k] *= mean
	}
}

// coefficients solves for the coefficients, with the factors free to first order: the columns and
// the durations are orthogonal to the derivative by the factor of their client, which is the
// prediction. One more row keeps the scale, which coefficients and factors share.
func (m *model) coefficients(f *fitted, used []int, predicted, huber []float64, weight func(int) float64) {
	p := len(m.terms)
	x, y := make([]float64, 0, (len(used)+1)*p), make([]float64, 0, len(used)+1)
	by := make([]float64, 0, len(used)) // derivative by the factor
	mean, at := make([]float64, p), 0.0
	for j, i := range used {
		v := &m.samples[i]
		w := math.Sqrt(huber[j]*weight(i)) / predicted[j]
		for k, term := range m.terms {
			column := w * f.s[v.client] * v.x[term]
			x = append(x, column)
			mean[k] += column
		}
		y = append(y, w*v.y)
		now := w * f.predict(v)
		by = append(by, now)
		at += now
	}
	if m.clients > 1 && at > 0 {
		m.orthogonal(x, y, by, used)
		x, y = append(x, mean...), append(y, at)
	}
	b := nnls.Solve(p, x, y)
	for j, k := range m.terms {
		f.b[k] = b[j]
	}
}

// orthogonal subtracts from each column of x and from y, for each client, its part in the
// direction by.
func (m *model) orthogonal(x, y, by []float64, used []int) {
	p := len(m.terms)
	square, dot := make([]float64, m.clients), make([]float64, m.clients*(p+1))
	for j, i := range used {
		c := m.samples[i].client
		square[c] += by[j] * by[j]
		for k := range p {
			dot[c*(p+1)+k] += by[j] * x[j*p+k]
		}
		dot[c*(p+1)+p] += by[j] * y[j]
	}
	for j, i := range used {
		c := m.samples[i].client
		if square[c] == 0 {
			continue
		}
		for k := range p {
			x[j*p+k] -= by[j] * dot[c*(p+1)+k] / square[c]
		}
		y[j] -= by[j] * dot[c*(p+1)+p] / square[c]
	}
}

// factors solves for the factors with the coefficients as they are.
func (m *model) factors(f *fitted, used []int, huber []float64, weight func(int) float64) {
	if m.clients == 1 {
		f.s[0] = 1
		return
	}
	sum, n := make([]float64, m.clients), make([]float64, m.clients)
	for j, i := range used {
		v := m.samples[i]
		at := f.predict(&v) / f.s[v.client]
		if at > 0 {
			w := huber[j] * weight(i)
			sum[v.client] += w * v.y / at
			n[v.client] += w
		}
	}
	for c := range f.s {
		f.s[c] = sum[c] / n[c]
	}
	m.normalize(f)
}

// reweigh updates the predictions and the weights.
func (m *model) reweigh(f *fitted, used []int, predicted, huber []float64) {
	errors := make([]float64, len(used))
	sizes := make([]float64, len(used))
	for j, i := range used {
		v := &m.samples[i]
		// A prediction of nearly nothing must not weigh more than all others.
		predicted[j] = min(max(f.predict(v), v.y/10), 10*v.y)
		errors[j] = v.y/predicted[j] - 1
		sizes[j] = math.Abs(errors[j])
	}
	// If most errors are zero, the others have small weights, but not none.
	limit := max(tuning*1.4826*orderstat.Median(sizes), 1e-9)
	for j, e := range errors {
		huber[j] = 1
		if size := math.Abs(e); size > limit {
			huber[j] = limit / size
		}
	}
}

// change returns the largest relative change.
func change(before, after []float64) float64 {
	most := 0.0
	for i, x := range after {
		if d := math.Abs(x - before[i]); d > 0 {
			most = max(most, d/max(math.Abs(x), math.Abs(before[i])))
		}
	}
	return most
}

// information returns Bayes' information criterion of a fit (Schwarz 1978) with n samples of
// normal relative errors and parameters: n log(mean square) + parameters log n. A relative error
// counts at most as limit.
func information(squares []float64, parameters int) float64 {
	sum := 0.0
	for _, s := range squares {
		sum += s
	}
	n := float64(len(squares))
	return float64(n*math.Log(max(sum/n, 1e-16))) + float64(parameters)*math.Log(n)
}
