package algorithms

import (
	"fmt"
	"slices"
	"sync"

	"fedsim/internal/state"
)

// slots hold a vector for some devices: those at work, or those that have taken part. They
// take memory for the most devices that have one at once.
type slots struct {
	mu    sync.Mutex // solves of different devices take slots at once
	size  int        // of a vector
	of    [][]float64
	spare [][]float64
}

func newSlots(devices, size int) *slots { return &slots{size: size, of: make([][]float64, devices)} }

// take returns the vector of a device. That of a device which had none has any content.
func (s *slots) take(device int) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[device] == nil {
		if n := len(s.spare); n > 0 {
			s.of[device], s.spare = s.spare[n-1], s.spare[:n-1]
		} else {
			s.of[device] = make([]float64, s.size)
		}
	}
	return s.of[device]
}

// hold returns the vector of a device. That of a device which had none is a copy of start;
// nil: zeros.
func (s *slots) hold(device int, start []float64) []float64 {
	had := s.of[device] != nil
	v := s.take(device)
	if !had {
		clear(v)
		copy(v, start)
	}
	return v
}

// release ends the use of a device's vector, if it has one.
func (s *slots) release(device int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.of[device]; v != nil {
		s.of[device] = nil
		s.spare = append(s.spare, v)
	}
}

// state codes the vectors of the devices that have one.
func (s *slots) state(c *state.Coder) {
	used := make([]bool, len(s.of))
	for k, v := range s.of {
		used[k] = v != nil
	}
	c.Bools(used)
	for k, is := range used {
		if c.Reads() && !is {
			s.release(k)
		}
		if is {
			c.Float64s(s.take(k))
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
