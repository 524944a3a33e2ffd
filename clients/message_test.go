package clients

import (
	"testing"

	"fedsim/internal/tools/roster"
)

// Latency comes before the bytes, and bytes are whole.
func TestMovedBytesAreWhole(t *testing.T) {
	for _, c := range []struct{ share, latency, want float64 }{
		{0, 0, 0}, {0.5, 0, 48}, {0.999, 0, 95}, {1, 0, 96}, {0.2, 0.2, 0}, {0.1, 0.9, 0}, {0.61, 0.2, 49},
		{1, 0.9, 96}, {1, 1, 96}, {0.5, 1, 0},
		// 96 bytes on LTE take 35 ms of latency and 0.137 ms, of which 0.017 ms are left.
		{1 - 0.017/35.137142857, 35 / 35.137142857, 84},
	} {
		if got := moved(96, c.share, c.latency); got != c.want {
			t.Errorf("%g of a transfer with %g of latency: %g bytes, want %g", c.share, c.latency, got, c.want)
		}
	}
}

// Messages that are under way keep their sizes when another size is set, for all or for one.
func TestMessageSizes(t *testing.T) {
	s := messageSizes{same: -1, roster: roster.New(3, false)}
	send := func(client int) { s.prepare(client) }
	sizes := func() [3]float64 { return [3]float64{s.of(0), s.of(1), s.of(2)} }
	s.setAll(10)
	send(0)
	if s.setAll(10); s.each != nil {
		t.Error("equal sizes are stored by client")
	}
	s.setAll(20)
	send(1)
	if got, want := sizes(), [3]float64{10, 20, 10}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	s.set(2, 30)
	send(2)
	send(0) // sizes are those of the clients now
	if got, want := sizes(), [3]float64{10, 20, 30}; got != want || !s.addressed {
		t.Errorf("%v, want %v", got, want)
	}
	s.setAll(20)
	send(2)
	if got, want := sizes(), [3]float64{10, 20, 20}; got != want || s.addressed {
		t.Errorf("%v, want %v", got, want)
	}
}
