package twin

import (
	"math"
	"slices"

	"fedsim/internal/tools/elementary"
)

// Law is the law of a time in seconds: Shift + Mean X, with X of mean 1. X is log-normal with the standard
// deviation CV, 1 where that is 0, or exponential.
type Law struct {
	Shift, Mean, CV float64
	Exponential     bool
}

// Fixed reports whether the time is always the same.
func (l Law) Fixed() bool { return l.Mean == 0 || l.CV == 0 && !l.Exponential }

// Expected returns the mean time.
func (l Law) Expected() float64 { return l.Shift + l.Mean }

// CDF returns the probability that the time is at most t.
func (l Law) CDF(t float64) float64 {
	x := t - l.Shift
	switch {
	case l.Fixed():
		if x >= l.Mean {
			return 1
		}
		return 0
	case x <= 0:
		return 0
	case l.Exponential:
		return -elementary.Expm1(-x / l.Mean)
	}
	s2 := elementary.Log1p(l.CV * l.CV)
	s := math.Sqrt(s2)
	return elementary.Erfc(-(elementary.Log(x/l.Mean)/s+float64(s/2))/math.Sqrt2) / 2
}

// Within returns the mean of the shorter of the time and t.
func (l Law) Within(t float64) float64 {
	return integral([]Law{l}, t, func(x float64) float64 { return 1 - l.CDF(x) })
}

// Square returns the mean of the square of the shorter of the time and t.
func (l Law) Square(t float64) float64 {
	return integral([]Law{l}, t, func(x float64) float64 { return float64(2*x) * (1 - l.CDF(x)) })
}

// integral returns that of a function from 0 to an end, which may be +Inf: the function then falls to 0 as the
// laws do. It is smooth but where a law begins, and where the time of a fixed one is.
func integral(laws []Law, end float64, f func(t float64) float64) float64 {
	var cuts []float64
	longest := 0.0
	for _, l := range laws {
		longest = max(longest, l.Expected())
		if cuts = append(cuts, l.Shift); l.Fixed() {
			cuts = append(cuts, l.Expected())
		} else { // where it rises
			for x := l.Mean / 64; x <= 16*l.Mean; x *= 2 {
				cuts = append(cuts, l.Shift+x)
			}
		}
	}
	slices.Sort(cuts)
	sum, from := 0.0, 0.0
	for _, to := range slices.Compact(cuts) {
		if to = min(to, end); to > from+float64(1e-12*longest) { // closer ones are of the same clients
			sum += adaptive(f, from, to, 1e-11*longest, 20)
			from = to
		}
	}
	for step := max(longest, from); from < end; step *= 2 {
		to := min(from+step, end)
		part := adaptive(f, from, to, 1e-11*longest, 20)
		sum += part
		if from = to; math.IsInf(end, 1) && part <= 1e-13*sum {
			break
		}
	}
	return sum
}

// adaptive integrates a smooth function by the formula of Gauss and Kronrod with 15 points, and halves of the
// interval while its error is above a limit.
func adaptive(f func(float64) float64, from, to, limit float64, depth int) float64 {
	middle, half := float64((from+to)/2), float64((to-from)/2)
	fine, coarse := 0.0, 0.0
	for i, x := range kronrodPoints {
		y := f(middle + float64(half*x))
		if x != 0 {
			y += f(middle - float64(half*x))
		}
		if fine += float64(kronrodWeights[i] * y); i%2 == 1 {
			coarse += float64(gaussWeights[i/2] * y)
		}
	}
	if math.Abs(fine-coarse)*half <= limit || depth == 0 {
		return fine * half
	}
	return adaptive(f, from, middle, limit/2, depth-1) + adaptive(f, middle, to, limit/2, depth-1)
}

// The points and weights of the formula with 15 points and, at every second one, with 7 (QUADPACK, qk15).
var (
	kronrodPoints = [8]float64{0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
		0.864864423359769072789712788640926, 0.741531185599394439863864773280788, 0.586087235467691130294144691693013,
		0.405845151377397166906606412076961, 0.207784955007898467600689403773245, 0}
	kronrodWeights = [8]float64{0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
		0.104790010322250183839876322541518, 0.140653259715525918745189590510238, 0.169004726639267902826583426598550,
		0.190350578064785409913256402421014, 0.204432940075298892414161999234649, 0.209482141084727828012999174891714}
	gaussWeights = [4]float64{0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
		0.381830050505118944950369775488975, 0.417959183673469387755102040816327}
)
