package flows

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

func (e exact) rat() *big.Rat {
	hi, lo := new(big.Rat).SetFloat64(e.hi), new(big.Rat).SetFloat64(e.lo)
	return hi.Add(hi, lo)
}

// Sums are within 2^-104 of the larger term, products exact.
func TestExactArithmetic(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	number := func() exact {
		x := (random.Float64() - 0.5) * float64(int64(1)<<random.IntN(62))
		return exact{hi: x}.plus(x * 0x1p-54 * random.Float64())
	}
	for range 4000 {
		x, y := number(), number()
		want := new(big.Rat).Add(x.rat(), y.rat())
		wrong := new(big.Rat).Sub(x.add(y).rat(), want)
		scale := max(abs(x.hi), abs(y.hi))
		limit := new(big.Rat).SetFloat64(scale * 0x1p-104)
		expect.Must(t, wrong.Abs(wrong).Cmp(limit) <= 0, "%v + %v = %v", x, y, x.add(y))
		d, _ := new(big.Rat).Sub(x.rat(), y.rat()).Float64()
		expect.Must(t, abs(x.minus(y)-d) <= 0x1p-52*abs(d)+0x1p-103*scale, "%v - %v = %v, want %v", x, y, x.minus(y), d)
		n := random.IntN(1 << 20)
		want = new(big.Rat).Mul(new(big.Rat).SetInt64(int64(n)), new(big.Rat).SetFloat64(x.hi))
		p := product(n, x.hi)
		expect.Must(t, p.rat().Cmp(want) == 0, "%d * %v = %v", n, x.hi, p)
	}
}

func abs(x float64) float64 { return max(x, -x) }

// Instants of a century keep their nanosecond. Something due a rounding error after an
// instant is over.
func TestInstants(t *testing.T) {
	for _, now := range []engine.Time{0, 1, 1<<53 + 1, 3155760000e9 + 7} {
		x := at(now)
		for _, c := range []struct {
			add  float64
			over engine.Time
		}{{0, now}, {1e-3, now}, {0.01, now + 1}, {0.99, now + 1}, {1, now + 1}, {1.5, now + 2}} {
			got := x.plus(c.add).over()
			expect.That(t, got == c.over, "%d ns and %g are over at %d, want %d", now, c.add, got, c.over)
		}
	}
	expect.That(t, at(engine.Never) == never && never.over() == engine.Never && at(1<<62).over() == engine.Never,
		"never is not never")
}
