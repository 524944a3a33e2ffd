package engine

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

func TestFromSecondsRounds(t *testing.T) {
	for _, c := range []struct {
		seconds     float64
		round, ceil Time
	}{
		{0, 0, 0},
		{math.Copysign(0, -1), 0, 0},
		{1.4e-9, 1, 2},
		{1.6e-9, 2, 2},
		{1e-30, 0, 1},
		{0.25, 250_000_000, 250_000_000},
		{9.3e9, Never, Never}, // 2^63 ns are 9.22e9 s
		{math.Inf(1), Never, Never},
		{math.MaxFloat64, Never, Never},
	} {
		got := FromSeconds(c.seconds)
		expect.That(t, got == c.round, "FromSeconds(%g) = %d, want %d", c.seconds, got, c.round)
		got = CeilSeconds(c.seconds)
		expect.That(t, got == c.ceil, "CeilSeconds(%g) = %d, want %d", c.seconds, got, c.ceil)
	}
}

func TestFromSecondsPanics(t *testing.T) {
	for _, s := range []float64{math.NaN(), -1, math.Inf(-1)} {
		mustPanic(t, "must be a number, not negative", func() { FromSeconds(s) })
		mustPanic(t, "must be a number, not negative", func() { CeilSeconds(s) })
	}
}

// Two roundings of half a unit in the last place each stay below half a
// nanosecond up to 2^51 ns, 26 days.
func TestSecondsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Time(rapid.Int64Range(0, 1<<51).Draw(t, "ns"))
		got := FromSeconds(want.Seconds())
		expect.Must(t, got == want, "FromSeconds(%d ns in seconds) = %d", want, got)
	})
	if got := FromSeconds(Never.Seconds()); got != Never {
		t.Errorf("FromSeconds(Never.Seconds()) = %d, want Never", got)
	}
}

func TestAddSaturates(t *testing.T) {
	for _, c := range []struct{ a, b, want Time }{
		{1, 2, 3}, {Never, 0, Never}, {0, Never, Never}, {Never, Never, Never}, {Never - 1, 1, Never},
		{Never - 2, 1, Never - 1},
	} {
		got := c.a.Add(c.b)
		expect.That(t, got == c.want, "%d + %d = %d, want %d", c.a, c.b, got, c.want)
	}
}

func TestTimeString(t *testing.T) {
	got := Time(62_500_000_000).String()
	expect.That(t, got == "1m2.5s", "62.5 s prints as %q", got)
	got = Never.String()
	expect.That(t, got == "never", "Never prints as %q", got)
}

func TestTimesSaturates(t *testing.T) {
	for _, c := range []struct {
		span Time
		n    int
		want Time
	}{{5, 3, 15}, {5, 0, 0}, {Never, 0, 0}, {Never, 1, Never}, {Never, 5, Never}, {Never / 2, 2, Never - 1},
		{Never/2 + 1, 2, Never}} {
		got := c.span.Times(c.n)
		expect.That(t, got == c.want, "%d times %d is %d, want %d", c.n, c.span, got, c.want)
	}
}
