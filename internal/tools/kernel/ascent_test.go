package kernel

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/rng"
)

// The steps that the losses of package mtl take, and one with bounds that often
// hold.
var clippedSteps = []ClippedStep{
	{High: 1},
	{Shrink: 0.3, Extra: 0.3, High: 1},
	{Shrink: 0.5, Extra: 0.5, High: math.Inf(1)},
	{Shrink: 1, Extra: 1, Low: math.Inf(-1), High: math.Inf(1)},
	{Low: -1, High: 1},
	{Shrink: 0.7, Extra: 0.1, Low: 0.01, High: 0.02},
}

// slowWalk takes the steps one by one, by slowDot and slowAxpy.
func slowWalk(s *Ascent, order []int32, draws *rng.Stream, from, to int) (moved int) {
	for at := from; at < to; at++ {
		j := at + draws.IntN(len(order)-at)
		order[at], order[j] = order[j], order[at]
		i := int(order[at])
		x := make([]float64, s.Cols)
		for j := range x {
			if s.X != nil {
				x[j] = s.X[i*s.Stride+j]
			} else {
				x[j] = float64(s.X32[i*s.Stride+j])
			}
		}
		q := s.Scale * s.Norms[i]
		if q < s.Least {
			q = s.Least
		}
		a, sign, y := s.A[i], 1.0, s.Y[i]
		if math.Signbit(y) {
			sign = -1
		}
		// The form of the margin losses, that of a label +1 with everything mirrored.
		z := slowDot(x, s.U)
		b := float64(sign*a) + (float64(sign*y)-float64(sign*z)-float64(s.Step.Shrink*float64(sign*a)))/(q+s.Step.Extra)
		if b <= s.Step.Low {
			b = s.Step.Low
		} else if b >= s.Step.High {
			b = s.Step.High
		}
		b *= sign
		if delta := s.Scale * (b - a); delta != 0 {
			copy(s.U, slowAxpy(delta, x, s.U))
		}
		if b != a {
			s.A[i] = b
			moved++
		}
	}
	return moved
}

// randomAscent has rows that fill their stride, or do not.
func randomAscent(s *rng.Stream, rows, cols, gap int, kind string) *Ascent {
	a := &Ascent{
		X: numbers(s, rows*(cols+gap), kind), Stride: cols + gap, Cols: cols,
		Y: numbers(s, rows, "plain"), Norms: make([]float64, rows), A: make([]float64, rows),
		U: numbers(s, cols, "plain"), Scale: math.Exp(s.Normal()), Least: 1e-300,
		Step: clippedSteps[s.IntN(len(clippedSteps))], Far: s.IntN(2) == 0,
	}
	for i := range rows {
		switch s.IntN(3) {
		case 0:
			a.Y[i] = 1
		case 1:
			a.Y[i] = -1
		}
		if s.IntN(10) == 0 {
			clear(a.X[i*a.Stride:][:cols])
		}
		x := a.X[i*a.Stride:][:cols]
		a.Norms[i] = SquaredNorm(x)
	}
	if s.IntN(2) == 0 {
		a.X32, _ = narrowed(a.X)
		a.X = nil
	}
	return a
}

func identity(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

func copyOf(a *Ascent) *Ascent {
	c := *a
	c.A, c.U = slices.Clone(a.A), slices.Clone(a.U)
	return &c
}

// Walks of any length from anywhere have the bits of the definition, leave the
// order and the stream as it does, and may follow each other.
func TestAscentAgreesWithItsDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			s := rng.New(rapid.Uint64().Draw(r, "seed"), rng.Synthetic, 0, 0)
			rows := rapid.IntRange(1, 40).Draw(r, "rows")
			cols := rapid.OneOf(rapid.IntRange(0, 17), rapid.IntRange(18, 150)).Draw(r, "cols")
			fast := randomAscent(&s, rows, cols, rapid.IntRange(0, 9).Draw(r, "gap"),
				rapid.SampledFrom([]string{"plain", "plain", "zeros", "denormal", "wide", "special"}).Draw(r, "kind"))
			slow := copyOf(fast)
			order, slowOrder := identity(rows), identity(rows)
			draws := rng.New(s.Uint64(), rng.Solve, 0, 0)
			slowDraws := draws
			for range 4 {
				from := rapid.IntRange(0, rows).Draw(r, "from")
				to := rapid.IntRange(from, rows).Draw(r, "to")
				moved, want := fast.Walk(order, &draws, from, to), slowWalk(slow, slowOrder, &slowDraws, from, to)
				if moved != want || draws != slowDraws || !slices.Equal(order, slowOrder) {
					r.Fatalf("[%d, %d): %d moved, want %d; order %v, want %v; streams equal: %t", from, to, moved, want,
						order, slowOrder, draws == slowDraws)
				}
				mustAgree(r, "a", fast.A, slow.A)
				mustAgree(r, "u", fast.U, slow.U)
			}
		})
	})
}

// A walk of several legs.
func TestLongAscent(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, cols := range []int{1, 9, 16, 17, 100, 561} {
			s := rng.New(8, rng.Synthetic, cols, 0)
			const rows = 1100
			fast := randomAscent(&s, rows, cols, 3, "plain")
			slow := copyOf(fast)
			order, slowOrder := identity(rows), identity(rows)
			draws := rng.New(8, rng.Solve, 0, 0)
			slowDraws := draws
			if moved, want := fast.Walk(order, &draws, 0, rows),
				slowWalk(slow, slowOrder, &slowDraws, 0, rows); moved != want || draws != slowDraws {
				t.Errorf("%d columns: %d moved, want %d; streams equal: %t", cols, moved, want, draws == slowDraws)
			}
			mustAgree(t, "a", fast.A, slow.A)
			mustAgree(t, "u", fast.U, slow.U)
		}
	})
}

// streamWith returns the stream whose draw after so many others is 0: its state
// has no upper half then, by which the other is multiplied. The generator's step is
// inverted as often.
func streamWith(t *testing.T, before int) rng.Stream {
	word := new(big.Int).Lsh(big.NewInt(1), 64)
	modulus := new(big.Int).Mul(word, word)
	whole := func(hi, lo uint64) *big.Int {
		x := new(big.Int).SetUint64(hi)
		return x.Mul(x, word).Add(x, new(big.Int).SetUint64(lo))
	}
	increment := whole(6364136223846793005, 1442695040888963407)
	inverse := new(big.Int).ModInverse(whole(2549297995355413924, 4865540595714422341), modulus)
	state := whole(0, 12345)
	for range before + 1 {
		state.Mul(state.Sub(state, increment), inverse).Mod(state, modulus)
	}
	hi, lo := new(big.Int).DivMod(state, word, new(big.Int))
	s := *(*rng.Stream)(unsafe.Pointer(&[2]uint64{hi.Uint64(), lo.Uint64()}))
	probe := s
	for range before {
		probe.Uint64()
	}
	expect.Must(t, probe.Uint64() == 0, "the generator is not the one inverted here")
	return s
}

// A draw of 0 is rejected for every bound that is no power of two, and taken for
// those that are. The fifth draw is the first that the vector kernels make.
func TestAscentRejectsBiasedDraws(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, rows := range []int{7, 8} { // the fifth position has a bound of 3 or 4
			for _, cols := range []int{9, 20} {
				s := rng.New(9, rng.Synthetic, 0, 0)
				order, want := identity(rows), identity(rows)
				draws, wantDraws := streamWith(t, 4), streamWith(t, 4)
				randomAscent(&s, rows, cols, 0, "plain").Walk(order, &draws, 0, rows)
				wantDraws.Draw(want, 0, rows)
				expect.That(t, draws == wantDraws && slices.Equal(order, want),
					"%d rows: order %v, want %v; streams equal: %t", rows, order, want, draws == wantDraws)
				plain := streamWith(t, 4)
				for range rows {
					plain.Uint64()
				}
				rejected := draws != plain
				expect.That(t, rejected == (rows == 7), "%d rows: a draw rejected: %t", rows, rejected)
			}
		}
	})
}

func TestAscentOfWhatDoesNotFitPanics(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for name, spoil := range map[string]func(a *Ascent, order []int32){
			"y":              func(a *Ascent, _ []int32) { a.Y = a.Y[:4] },
			"norms":          func(a *Ascent, _ []int32) { a.Norms = a.Norms[:4] },
			"a":              func(a *Ascent, _ []int32) { a.A = a.A[:4] },
			"u":              func(a *Ascent, _ []int32) { a.U = a.U[:4] },
			"rows":           func(a *Ascent, _ []int32) { a.X, a.X32 = nil, nil },
			"stride":         func(a *Ascent, _ []int32) { a.Stride = 2 },
			"a row too high": func(_ *Ascent, order []int32) { order[3] = 5 },
			"a row below 0":  func(_ *Ascent, order []int32) { order[3] = -1 },
		} {
			s := rng.New(10, rng.Synthetic, 0, 0)
			ascent, order, draws := randomAscent(&s, 5, 20, 0, "plain"), identity(5), rng.New(1, rng.Solve, 0, 0)
			spoil(ascent, order)
			func() {
				defer func() {
					expect.That(t, recover() != nil, "%s: no panic", name)
				}()
				ascent.Walk(order, &draws, 0, 5)
			}()
		}
	})
}

func TestAscentAllocatesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, cols := range []int{9, 30} {
			s := rng.New(11, rng.Synthetic, 0, 0)
			ascent, order, draws := randomAscent(&s, 50, cols, 0, "plain"), identity(50), rng.New(1, rng.Solve, 0, 0)
			allocs := testing.AllocsPerRun(10, func() { ascent.Walk(order, &draws, 0, 50) })
			expect.That(t, allocs == 0, "%d columns: %g allocations, want 0", cols, allocs)
		}
	})
}
