package mtl

import (
	"fmt"
	"slices"
	"sort"

	"fedsim/data"
)

// Clustered is eq. cluster, the convex relaxation of learning which tasks
// form clusters (Jacob, Bach and Vert, NIPS 2008; Zhou, Chen and Ye, NIPS
// 2011):
//
//	R(W, Omega) = lambda tr(W (eta I + Omega)^-1 W^T),  0 <= Omega <= I,  tr Omega = k
//
// so that M = (eta I + Omega)/(2 lambda). R is jointly convex in W and Omega.
type Clustered struct {
	Lambda, Eta float64
	Count       float64 // k, in (0, m)
}

var _ Regularizer = Clustered{}

// Start returns the coupling of Omega = (k/m) I. It fails unless 0 < k < m.
func (c Clustered) Start(_ *Pool, m int) (Coupling, error) {
	if !(c.Count > 0 && c.Count < float64(m)) {
		return nil,
			fmt.Errorf("%g clusters of %d tasks: the number of clusters must be above 0 and below that of the tasks",
				c.Count, m)
	}
	return Identity{M: m, Scale: c.coupling(c.Count / float64(m))}, nil
}

// coupling maps an eigenvalue of Omega to the eigenvalue of M.
func (c Clustered) coupling(omega float64) float64 { return (c.Eta + omega) / (2 * c.Lambda) }

// Update returns the coupling of (1-floor) Omega + floor (k/m) I, which keeps
// 0 <= Omega <= I and the trace. Omega has the eigenvectors of W^T W (appendix
// B.3). For W = 0 the coupling is that of Start.
func (c Clustered) Update(pool *Pool, w *data.Matrix, floor float64) (Coupling, error) {
	start, err := c.Start(pool, w.Rows)
	if err != nil {
		return nil, err
	}
	s, err := spectrumOf(pool, w)
	if err != nil {
		return nil, err
	}
	if len(s.values) == 0 {
		return start, nil
	}
	base := floor * c.Count / float64(w.Rows)
	omega, off := waterFill(s.values, w.Rows, c.Eta, c.Count)
	for i := range omega {
		omega[i] = c.coupling(float64((1-floor)*omega[i]) + base)
	}
	return s.coupling(pool, omega, c.coupling(float64((1-floor)*off)+base))
}

// UpdateFLOPs returns the cost of the decomposition of W.
func (c Clustered) UpdateFLOPs(m, d int) float64 { return spectrumFLOPs(m, d) }

// waterFill returns the minimizer of sum_i s_i^2/(eta + o_i) subject to
// sum_i o_i = k and 0 <= o_i <= 1 over m eigenvalues o: those of the positive values s, and
// one value for all others. At the optimum s_i/(eta + o_i) is the same for all
// 0 < o_i < 1, so that o_i = clip(s_i/level - eta, 0, 1). The sum is piecewise linear in
// 1/level. waterFill finds the piece where the sum reaches k among the sorted ends of the
// pieces, and then solves exactly. When k exceeds the number of positive values, the other
// eigenvalues divide the rest equally; the objective does not depend on them.
func waterFill(s []float64, m int, eta, k float64) (omega []float64, off float64) {
	omega = make([]float64, len(s))
	if k >= float64(len(s)) {
		fill(omega, 1)
		return omega, (k - float64(len(s))) / float64(m-len(s))
	}
	ends := make([]float64, 0, 2*len(s)) // of 1/level: where some o_i leaves 0, and where it reaches 1
	for _, x := range s {
		ends = append(ends, eta/x, (eta+1)/x)
	}
	slices.Sort(ends)
	share := func(i int, inverse float64) float64 { return min(1, max(0, float64(s[i]*inverse)-eta)) }
	total := func(inverse float64) float64 {
		sum := 0.0
		for i := range s {
			sum += share(i, inverse)
		}
		return sum
	}
	// At the first end all are 0, at the last all are 1 and the sum is above k.
	high := max(1, sort.Search(len(ends)-1, func(e int) bool { return total(ends[e]) >= k }))
	inverse := ends[high]
	rest, slope := k, 0.0
	for _, x := range s {
		switch {
		case (eta+1)/x <= ends[high-1]:
			rest--
		case eta/x <= ends[high-1]:
			rest += eta
			slope += x
		}
	}
	if slope > 0 {
		inverse = rest / slope
	}
	for i := range omega {
		omega[i] = share(i, inverse)
	}
	return omega, 0
}
