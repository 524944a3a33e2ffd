package data

import "math"

// Scaling gives features mean 0 and variance 1: x_j becomes (x_j - Mean[j]) /
// Deviation[j]. The deviation of a constant feature is set to 1, so that it becomes 0.
type Scaling struct{ Mean, Deviation []float64 }

// FitScaling computes the scaling from the rows of all tasks together (population
// variance), in task and row order. Without rows it is the identity.
func FitScaling(set *Set) Scaling {
	d := set.Features
	s := Scaling{Mean: make([]float64, d), Deviation: make([]float64, d)}
	low, high := make([]float64, d), make([]float64, d)
	for j := range d {
		s.Deviation[j], low[j], high[j] = 1, math.Inf(1), math.Inf(-1)
	}
	n := float64(set.Rows())
	if n == 0 {
		return s
	}
	set.eachRow(func(x []float64) {
		for j, v := range x {
			s.Mean[j] += v
			low[j], high[j] = min(low[j], v), max(high[j], v)
		}
	})
	for j := range s.Mean {
		s.Mean[j] /= n
	}
	squares := make([]float64, d)
	set.eachRow(func(x []float64) {
		for j, v := range x {
			squares[j] += float64((v - s.Mean[j]) * (v - s.Mean[j]))
		}
	})
	for j := range squares {
		if low[j] == high[j] { // its computed variance is rounding error, not zero
			s.Mean[j] = low[j]
			continue
		}
		if deviation := math.Sqrt(squares[j] / n); deviation > 0 { // squares of tiny numbers underflow
			s.Deviation[j] = deviation
		}
	}
	return s
}

// apply writes the scaled features of a row to another, or to itself.
func (s *Scaling) apply(row, into []float64) {
	for j, x := range row {
		into[j] = (x - s.Mean[j]) / s.Deviation[j]
	}
}

// eachRow calls visit for each row of each task, in order, for reading. The row may be
// overwritten after visit returns.
func (s *Set) eachRow(visit func(x []float64)) {
	space := make([]float64, s.Features)
	for t := range s.Clients {
		task := s.Open(t)
		for i := range task.X.Rows {
			visit(task.values(i, space))
		}
		task.Close()
	}
}
