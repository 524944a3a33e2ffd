package mtl

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
)

// Kinds of couplings in a checkpoint. An Omega update returns one of them.
const (
	identityKind = iota
	denseKind
	sparseKind
	lowRankKind
)

// CouplingState encodes the coupling of an Omega update and returns it, or decodes one with
// the same bits, which computes on the pool. When c decodes, the argument is ignored.
func (p *Problem) CouplingState(c *Coder, pool *Pool, coupling Coupling) Coupling {
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
		coupling, err = lowRankState(c, pool, p.Tasks(), p.Values(), x)
	default:
		err = fmt.Errorf("unknown kind %d", kind)
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

// kindOf returns the kind of a coupling to encode.
func kindOf(c *Coder, coupling Coupling) int {
	switch coupling.(type) {
	case nil: // decoding
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
		c.Fail(fmt.Errorf("a coupling of type %T cannot be saved: no Omega update returns one", coupling))
		return 0
	}
}

// denseState encodes or decodes M.
func denseState(c *Coder, m int, x *Dense) (Coupling, error) {
	read := symmetricState(c, m, func(i, j int) float64 { return x.At(i, j) })
	if read == nil {
		return x, nil
	}
	return NewDense(read)
}

// sparseState encodes or decodes M^-1 and l1.
func sparseState(c *Coder, m int, x *sparse) (Coupling, error) {
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

// symmetricState encodes or decodes a symmetric m x m matrix, row by row from the diagonal
// on. It returns the decoded matrix; nil when it encodes or fails. It allocates as it
// reads, so that a corrupt size cannot exhaust the memory.
func symmetricState(c *Coder, m int, at func(i, j int) float64) *mat.SymDense {
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
			read = append(read, row...) // NewSymDense ignores the entries below the diagonal
		}
	}
	if !c.Reads() {
		return nil
	}
	return mat.NewSymDense(m, read)
}

// lowRankState encodes or decodes F and the eigenvalues.
func lowRankState(c *Coder, pool *Pool, m, d int, x *lowRank) (Coupling, error) {
	var off float64
	var eigenvalues []float64
	if x != nil {
		off, eigenvalues = x.off, x.eigenvalues
	}
	c.Float64(&off)
	r := c.Count(len(eigenvalues))
	if r > min(m, d) {
		return nil, fmt.Errorf("rank %d with %d features and %d tasks", r, d, m)
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
