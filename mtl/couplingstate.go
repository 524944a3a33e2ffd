package mtl

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/parallel"
	"fedsim/internal/state"
)

// The couplings that Omega updates make, as they are kept.
const (
	identityKind = iota
	denseKind
	sparseKind
	lowRankKind
)

// CouplingState names the state of a coupling of the problem's tasks that an Omega
// update has made, and returns it; of one that is read, which is the same bit for
// bit and computes on the pool, the argument is ignored.
func (p *Problem) CouplingState(c *state.Coder, pool *parallel.Pool, coupling Coupling) Coupling {
	if c.Reads() {
		coupling = nil
	}
	shifted, isShifted := coupling.(Shifted)
	if isShifted {
		coupling = shifted.Coupling
	}
	shape := []bool{isShifted}
	kind := kindOf(c, coupling)
	c.Bools(shape)
	c.Float64(&shifted.Constant)
	c.Int(&kind)
	if c.Err() != nil {
		return nil
	}
	var err error
	switch kind {
	case identityKind:
		x, _ := coupling.(Identity)
		x.M = p.Tasks()
		c.Float64(&x.Scale)
		coupling = x
	case denseKind:
		x, _ := coupling.(*Dense)
		coupling, err = denseState(c, p.Tasks(), x)
	case sparseKind:
		x, _ := coupling.(*sparse)
		coupling, err = sparseState(c, p.Tasks(), x)
	case lowRankKind:
		x, _ := coupling.(*lowRank)
		coupling, err = lowRankState(c, pool, p.Tasks(), p.Features(), x)
	default:
		err = fmt.Errorf("no coupling is of kind %d", kind)
	}
	if err != nil {
		c.Fail(fmt.Errorf("reading a coupling: %w", err))
	}
	if c.Err() != nil {
		return nil
	}
	if shape[0] {
		shifted.Coupling = coupling
		return shifted
	}
	return coupling
}

// kindOf returns the kind of a coupling that is written.
func kindOf(c *state.Coder, coupling Coupling) int {
	switch coupling.(type) {
	case nil: // read
		return 0
	case Identity:
		return identityKind
	case *Dense:
		return denseKind
	case *sparse:
		return sparseKind
	case *lowRank:
		return lowRankKind
	default:
		c.Fail(fmt.Errorf("a coupling of type %T cannot be kept: no Omega update makes one", coupling))
		return 0
	}
}

// denseState names M.
func denseState(c *state.Coder, m int, x *Dense) (Coupling, error) {
	read := symmetricState(c, m, func(i, j int) float64 { return x.At(i, j) })
	if read == nil {
		return x, nil
	}
	return NewDense(read)
}

// sparseState names M^-1 and l1.
func sparseState(c *state.Coder, m int, x *sparse) (Coupling, error) {
	if x == nil {
		x = &sparse{}
	}
	l1 := x.l1
	c.Float64(&l1)
	read := symmetricState(c, m, func(i, j int) float64 { return x.precision[i*m+j] })
	if read == nil {
		return x, nil
	}
	return newSparse(read, l1)
}

// symmetricState names a symmetric m x m matrix, row by row from the diagonal on, and
// returns the one that was read; nil when it is written, and when reading has failed.
// What is read is believed as far as it goes.
func symmetricState(c *state.Coder, m int, at func(i, j int) float64) *mat.SymDense {
	var read []float64
	row := make([]float64, m)
	for i := range m {
		if !c.Reads() {
			for j := i; j < m; j++ {
				row[j] = at(i, j)
			}
		}
		if c.Float64s(row[i:]); c.Err() != nil {
			return nil
		}
		if c.Reads() {
			read = append(read, row...) // what is below the diagonal is not looked at
		}
	}
	if !c.Reads() {
		return nil
	}
	return mat.NewSymDense(m, read)
}

// lowRankState names F and the eigenvalues.
func lowRankState(c *state.Coder, pool *parallel.Pool, m, d int, x *lowRank) (Coupling, error) {
	var off float64
	var eigenvalues []float64
	if x != nil {
		off, eigenvalues = x.off, x.eigenvalues
	}
	c.Float64(&off)
	r := c.Count(len(eigenvalues))
	if r > min(m, d) {
		return nil, fmt.Errorf("a coupling of rank %d from %d features of %d tasks", r, d, m)
	}
	if c.Err() != nil {
		return nil, nil
	}
	var f data.Matrix
	if x != nil {
		f = x.f
	} else {
		f, eigenvalues = data.NewMatrix(m, r), make([]float64, r)
	}
	c.Float64s(eigenvalues)
	for t := 0; t < m && c.Err() == nil; t++ {
		c.Float64s(f.Row(t))
	}
	if x != nil || c.Err() != nil {
		return x, nil
	}
	return newLowRank(pool, f, eigenvalues, off)
}
