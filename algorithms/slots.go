package algorithms

import (
	"sync"

	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Slots are the vectors of a method by device: of devices at work, or of those that have taken
// part. Others have none. They take memory for the most devices that have one at once. Those of
// a model in single precision are in single precision: they are rounded when they are stored, and
// widened when they are read.
type Slots struct {
	mu     sync.Mutex // solves of different devices store vectors at once
	size   int        // of a vector
	single bool
	of     []*vector // by device; nil: it has none
	spare  []*vector
	places []state.Place // by device: where a checkpoint has the vector
}

// vector has numbers in one of the two precisions; the other has none.
type vector struct {
	double []float64
	single []float32
}

// NewSlots returns slots for vectors of a size, of the clients of a problem.
func NewSlots(p *mtl.Problem, size int) *Slots {
	n := p.Clients()
	return &Slots{size: size, single: p.Given.Single, of: make([]*vector, n), places: make([]state.Place, n)}
}

// Size returns the number of values of a vector.
func (s *Slots) Size() int { return s.size }

// Has reports whether a device has a vector.
func (s *Slots) Has(device int) bool { return s.of[device] != nil }

// change is take of a vector that is about to change.
func (s *Slots) change(device int) (v *vector, had bool) {
	s.places[device] = state.Place{}
	return s.take(device)
}

// take returns the vector of a device. That of a device which had none has any content.
func (s *Slots) take(device int) (v *vector, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v = s.of[device]; v != nil {
		return v, true
	}
	if n := len(s.spare); n > 0 {
		v, s.spare = s.spare[n-1], s.spare[:n-1]
	} else if s.single {
		v = &vector{single: make([]float32, s.size)}
	} else {
		v = &vector{double: make([]float64, s.size)}
	}
	s.of[device] = v
	return v, false
}

// Store makes a copy of x the vector of a device.
func (s *Slots) Store(device int, x []float64) {
	v, _ := s.change(device)
	copy(v.double, x)
	for j := range v.single {
		v.single[j] = float32(x[j])
	}
}

// Add adds a x to the vector of a device, which is 0 if it had none.
func (s *Slots) Add(device int, a float64, x []float64) {
	v, had := s.change(device)
	if !had {
		clear(v.double)
		clear(v.single)
	}
	if v.double != nil {
		kernel.Axpy(a, x, v.double)
	}
	for j := range v.single {
		v.single[j] = float32(float64(v.single[j]) + float64(a*x[j]))
	}
}

// AddTo adds a times the vector of a device, if it has one, to the start of x, or to x.
func (s *Slots) AddTo(device int, a float64, x []float64) {
	switch v := s.of[device]; {
	case v == nil:
	case s.single:
		kernel.Axpy32(a, v.single, x)
	default:
		kernel.Axpy(a, v.double, x)
	}
}

// Load sets into to the vector of a device, and reports whether it has one.
func (s *Slots) Load(device int, into []float64) bool {
	v := s.of[device]
	if v == nil {
		return false
	}
	copy(into, v.double)
	for j, x := range v.single {
		into[j] = float64(x)
	}
	return true
}

// At returns the vector of a device; nil: it has none. One in single precision is widened into space,
// which others may be without; see SpaceOf.
func (s *Slots) At(device int, space []float64) []float64 {
	switch v := s.of[device]; {
	case v == nil:
		return nil
	case !s.single:
		return v.double
	}
	s.Load(device, space)
	return space[:s.size]
}

// Update returns the vector of a device as an update.
func (s *Slots) Update(array string, device int) Update {
	u := Update{Array: array}
	if v := s.of[device]; v != nil {
		u.Values, u.Single = v.double, v.single
	}
	return u
}

// SpaceOf returns space for Slots.At of vectors of a size: none unless the model is in single precision.
func SpaceOf(p *mtl.Problem, size int) []float64 {
	if !p.Given.Single {
		return nil
	}
	return make([]float64, size)
}

// Release ends the use of a device's vector, if it has one.
func (s *Slots) Release(device int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.of[device]; v != nil {
		s.of[device] = nil
		s.spare = append(s.spare, v)
	}
}

// ReplaceBy moves the vector of a device, if it has one, here from other slots of the same size.
func (s *Slots) ReplaceBy(other *Slots, device int) {
	if other.Has(device) {
		s.of[device], other.of[device] = other.of[device], s.of[device]
		s.places[device] = state.Place{}
		other.Release(device)
	}
}

// leastOutside is the size of vectors which a checkpoint has outside of its state, so that the next one
// writes those that have changed.
const leastOutside = 4096

// State codes the vectors of the devices that have one.
func (s *Slots) State(c *state.Coder) {
	used := make([]bool, len(s.of))
	for k := range used {
		used[k] = s.Has(k)
	}
	c.Bools(used)
	outside := s.size >= leastOutside && c.HasOutside()
	c.Bool(&outside)
	for k, is := range used {
		if c.Reads() && !is {
			s.Release(k)
		}
		if !is || c.Err() != nil {
			continue
		}
		v, _ := s.take(k)
		switch {
		case outside && s.single:
			state.Vector(c, v.single, &s.places[k])
		case outside:
			state.Vector(c, v.double, &s.places[k])
		case s.single:
			c.Float32s(v.single)
		default:
			c.Float64s(v.double)
		}
	}
}
