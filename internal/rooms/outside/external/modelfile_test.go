package external

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Values come back from a slot as they were written, rounded once where they are single. Gradients are
// added, those behind them are buffers.
func TestSlots(t *testing.T) {
	for _, single := range []bool{false, true} {
		s := newSlotsOf(3, 5, 0, single)
		expect.NoError(t, s.reserve())
		defer s.remove()
		if s.rows != 0 || s.w%pageBytes != 0 || s.g%pageBytes != 0 || s.w < 20 || s.g < s.w+12 || s.size < s.g+12 {
			t.Errorf("slots at %d, %d and %d of %d bytes", s.rows, s.w, s.g, s.size)
		}
		x, got := []float64{1.0 / 3, math.Inf(1), -math.Pi}, make([]float64, 3)
		expect.NoError(t, s.write(s.g, x))
		got[0] = 5 // which is not added to
		expect.NoError(t, s.gradient(2, got[:2], got[2:]))
		first := make([]float64, 3)
		expect.NoError(t, errors.Join(s.write(s.w, x), s.initial(first)))
		for i, v := range x {
			if single {
				v = float64(float32(v))
			}
			if want := []float64{2 * v, 2 * v, v}[i]; got[i] != want || first[i] != v {
				t.Errorf("value %d is %v, and twice it is %v: want %v and %v", i, first[i], got[i], v, want)
			}
		}
	}
}

// A file that the process cuts off is an error of each access, also where a page still has the bytes.
func TestSlotsCutOff(t *testing.T) {
	for _, single := range []bool{false, true} {
		s := newSlotsOf(100_000, 5, 0, single)
		expect.NoError(t, s.reserve())
		defer s.remove()
		x := make([]float64, 100_000)
		for _, size := range []int64{s.size - 1, s.g + 1, s.w, 0} {
			expect.NoError(t, s.file.Truncate(size))
			want := fmt.Sprintf("has cut off the file of w and g: it has %d bytes, must have %d", size, s.size)
			err := s.gradient(1, x, nil)
			expect.That(t, err != nil && err.Error() == want, "got %v, want %s", err, want)
		}
	}
}

// A fault is an error although the file has its length again: what was read before it is incomplete.
func TestAFaultOfAWholeFileIsAnError(t *testing.T) {
	s := newSlotsOf(100_000, 5, 0, false)
	expect.NoError(t, s.reserve())
	defer s.remove()
	err := s.inMapping(func() {
		if s.mapped == nil { // there are no faults without mappings
			panic(fault{})
		}
		defer func() {
			err := s.file.Truncate(s.size)
			expect.That(t, err == nil, "%v", err)
		}()
		if err := s.file.Truncate(0); err != nil {
			t.Error(err)
		}
		s.mapped[s.g]++
	})
	if err == nil || !strings.Contains(err.Error(), "the memory of the file of w and g has a fault at address 0x") {
		t.Error(err)
	}
}

// fault is a cause as the runtime has it.
type fault struct{}

func (fault) Addr() uintptr { return 1 }

func BenchmarkSlots(b *testing.B) {
	for name, single := range map[string]bool{"float64": false, "float32": true} {
		b.Run(name, func(b *testing.B) {
			s := newSlotsOf(61706, 32, 0, single)
			expect.NoError(b, s.reserve())
			defer s.remove()
			x := make([]float64, 61706)
			for b.Loop() {
				expect.NoError(b, s.write(s.w, x))
				expect.NoError(b, s.gradient(1e-9, x, nil))
			}
		})
	}
}
