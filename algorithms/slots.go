package algorithms

import (
	"fmt"
	"slices"
	"sync"

	"fedsim/internal/kernel"
	"fedsim/internal/state"
	"fedsim/mtl"
)

// slots are the vectors of a method by device: of devices at work, or of those that have taken
// part. Others have none. They take memory for the most devices that have one at once. Those of
// a model in single precision are in single precision: they are rounded when they are stored, and
// widened when they are read.
type slots struct {
	mu   sync.Mutex // solves of different devices store vectors at once
	size int        // of a vector
	shelf[float64]
	single shelf[float32] // in the place of the shelf above, where the model is in single precision
	places []state.Place  // by device: where a checkpoint has the vector
}

// shelf has vectors by device, and those that are free.
type shelf[T float32 | float64] struct {
	of    [][]T // nil: the device has none
	spare [][]T
}

// newSlots returns slots for vectors of a size, of the clients of a problem.
func newSlots(p *mtl.Problem, size int) *slots {
	n := p.Clients()
	s := &slots{size: size, places: make([]state.Place, n)}
	if p.Given.Single {
		s.single.of = make([][]float32, n)
	} else {
		s.of = make([][]float64, n)
	}
	return s
}

// take returns the vector of a device. That of a device which had none has any content.
func (s *shelf[T]) take(device, size int) (v []T, had bool) {
	if s.of[device] != nil {
		return s.of[device], true
	}
	if n := len(s.spare); n > 0 {
		s.of[device], s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		s.of[device] = make([]T, size)
	}
	return s.of[device], false
}

// release frees the vector of a device, if it has one.
func (s *shelf[T]) release(device int) {
	if v := s.of[device]; v != nil {
		s.of[device] = nil
		s.spare = append(s.spare, v)
	}
}

// devices returns for how many devices there may be vectors.
func (s *slots) devices() int { return len(s.of) + len(s.single.of) }

// has reports whether a device has a vector.
func (s *slots) has(device int) bool {
	if s.single.of != nil {
		return s.single.of[device] != nil
	}
	return s.of[device] != nil
}

// change is space of a vector that is about to change.
func (s *slots) change(device int) (v []float64, single []float32, had bool) {
	s.places[device] = state.Place{}
	return s.space(device)
}

// space returns the vector of a device, in one of the two precisions. That of a device which had
// none has any content.
func (s *slots) space(device int) (v []float64, single []float32, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.single.of != nil {
		single, had = s.single.take(device, s.size)
		return nil, single, had
	}
	v, had = s.take(device, s.size)
	return v, nil, had
}

// store makes a copy of v the vector of a device.
func (s *slots) store(device int, v []float64) {
	into, single, _ := s.change(device)
	if single == nil {
		copy(into, v)
		return
	}
	for j, x := range v {
		single[j] = float32(x)
	}
}

// add adds a x to the vector of a device, which is 0 if it had none.
func (s *slots) add(device int, a float64, x []float64) {
	into, single, had := s.change(device)
	if !had {
		clear(into)
		clear(single)
	}
	if single == nil {
		kernel.Axpy(a, x, into)
		return
	}
	for j, x := range x {
		single[j] = float32(float64(single[j]) + float64(a*x))
	}
}

// addTo adds a times the vector of a device, if it has one, to the start of x, or to x.
func (s *slots) addTo(device int, a float64, x []float64) {
	switch {
	case !s.has(device):
	case s.single.of != nil:
		kernel.Axpy32(a, s.single.of[device], x)
	default:
		kernel.Axpy(a, s.of[device], x)
	}
}

// load sets into to the vector of a device, and reports whether it has one.
func (s *slots) load(device int, into []float64) bool {
	if s.single.of == nil {
		return copy(into, s.of[device]) > 0
	}
	for j, x := range s.single.of[device] {
		into[j] = float64(x)
	}
	return s.single.of[device] != nil
}

// at returns the vector of a device; nil: it has none. One in single precision is widened into space,
// which others may be without; see spaceOf.
func (s *slots) at(device int, space []float64) []float64 {
	switch {
	case s.single.of == nil:
		return s.of[device]
	case s.load(device, space):
		return space[:s.size]
	}
	return nil
}

// update returns the vector of a device as an update.
func (s *slots) update(array string, device int) Update {
	if s.single.of != nil {
		return Update{Array: array, Single: s.single.of[device]}
	}
	return Update{Array: array, Values: s.of[device]}
}

// spaceOf returns space for slots.at of vectors of a size: none unless the model is in single precision.
func spaceOf(p *mtl.Problem, size int) []float64 {
	if !p.Given.Single {
		return nil
	}
	return make([]float64, size)
}

// release ends the use of a device's vector, if it has one.
func (s *slots) release(device int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.single.of != nil {
		s.single.release(device)
		return
	}
	s.shelf.release(device)
}

// replaceBy moves the vector of a device, if it has one, here from other slots of the same size.
func (s *slots) replaceBy(other *slots, device int) {
	if !other.has(device) {
		return
	}
	if s.single.of != nil {
		s.single.of[device], other.single.of[device] = other.single.of[device], s.single.of[device]
	} else {
		s.of[device], other.of[device] = other.of[device], s.of[device]
	}
	s.places[device] = state.Place{}
	other.release(device)
}

// leastOutside is the size of vectors which a checkpoint has outside of its state, so that the next one
// writes those that have changed.
const leastOutside = 4096

// state codes the vectors of the devices that have one.
func (s *slots) state(c *state.Coder) {
	used := make([]bool, s.devices())
	for k := range used {
		used[k] = s.has(k)
	}
	c.Bools(used)
	outside := s.size >= leastOutside && c.HasOutside()
	c.Bool(&outside)
	for k, is := range used {
		if c.Reads() && !is {
			s.release(k)
		}
		if !is || c.Err() != nil {
			continue
		}
		v, single, _ := s.space(k)
		switch {
		case outside && single == nil:
			state.Vector(c, v, &s.places[k])
		case outside:
			state.Vector(c, single, &s.places[k])
		case single == nil:
			c.Float64s(v)
		default:
			c.Float32s(single)
		}
	}
}

// versions are the models that a server has sent: one copy for all devices with the same.
type versions struct {
	of     []int // by device: index in models; -1: none
	models []version
}

// version is a model that some devices hold.
type version struct {
	w       []float64
	number  int // of the server's steps before it
	holders int // 0: the memory is free
}

func newVersions(devices int) versions {
	return versions{of: slices.Repeat([]int{-1}, devices)}
}

// send gives a device the model w of a number; a server has one model of a number.
func (v *versions) send(device, number int, w []float64) {
	v.release(device)
	at := slices.IndexFunc(v.models, func(m version) bool { return m.holders > 0 && m.number == number })
	if at < 0 {
		if at = slices.IndexFunc(v.models, func(m version) bool { return m.holders == 0 }); at < 0 {
			at = len(v.models)
			v.models = append(v.models, version{})
		}
		v.models[at].number = number
		v.models[at].w = append(v.models[at].w[:0], w...)
	}
	v.of[device] = at
	v.models[at].holders++
}

// held returns the model of a device and its number.
func (v *versions) held(device int) ([]float64, int) {
	m := &v.models[v.of[device]]
	return m.w, m.number
}

// holders appends the devices that hold a model of a number or of an earlier one, in order.
func (v *versions) holders(number int, to []int32) []int32 {
	old := func(m version) bool { return m.holders > 0 && m.number <= number }
	if !slices.ContainsFunc(v.models, old) {
		return to
	}
	for k, at := range v.of {
		if at >= 0 && old(v.models[at]) {
			to = append(to, int32(k))
		}
	}
	return to
}

// release ends the use of a device's model, if it has one.
func (v *versions) release(device int) {
	if at := v.of[device]; at >= 0 {
		v.of[device] = -1
		v.models[at].holders--
	}
}

// state codes the models of the devices, of so many values each.
func (v *versions) state(c *state.Coder, values int) {
	c.Ints(v.of)
	n := c.Count(len(v.models))
	if c.Reads() {
		v.models = nil
	}
	for i := range n {
		if c.Err() != nil {
			return
		}
		if c.Reads() {
			v.models = append(v.models, version{})
		}
		m := &v.models[i]
		c.Int(&m.number)
		if c.Int(&m.holders); m.holders == 0 {
			continue
		}
		if c.Reads() {
			m.w = make([]float64, values)
		}
		c.Float64s(m.w)
	}
	for _, at := range v.of {
		if at < -1 || at >= len(v.models) {
			c.Fail(fmt.Errorf("a device has version %d of %d", at, len(v.models)))
		}
	}
}
