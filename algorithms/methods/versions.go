package methods

import (
	"fmt"
	"slices"

	"fedsim/internal/tools/state"
)

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
