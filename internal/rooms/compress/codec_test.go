package compress

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// sines is the vector of the reference values: v_i = sin(i), i = 1, ..., d.
func sines(d int) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = math.Sin(float64(i + 1))
	}
	return v
}

// normal is a vector of normal numbers, some of them 0.
func normal(d int, seed uint64) []float64 {
	s := rng.New(seed, rng.Synthetic, 0, 0)
	v := make([]float64, d)
	for i := range v {
		if v[i] = s.Normal(); s.Float64() < 0.2 {
			v[i] = 0
		}
	}
	return v
}

// stream is a stream of the codecs' draws.
func stream(round int) rng.Stream { return rng.New(3, rng.Compression, 1, round) }

// reference reads the values of models.csv, section G, by "case quantity".
func reference(t *testing.T) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, row := range filetest.Rows(t, filetest.Real(t, "../reference/models.csv")) {
		if row[0] == "G" {
			values[row[1]+" "+row[2]] = filetest.Number(t, row[3])
		}
	}
	return values
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	expect.That(t, math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want)),
		"%s is %.15g, want %.15g", what, got, want)
}

func relative(v, of []float64) float64 {
	sum := 0.0
	for i := range v {
		sum += (v[i] - of[i]) * (v[i] - of[i])
	}
	return sum / kernel.SquaredNorm(of)
}

// settings are all codecs with the settings that change their messages.
func settings() []Config {
	var all []Config
	for _, codec := range Names() {
		c := Defaults()
		c.Up, c.UpOptions.K.Share = codec, 0.05
		switch codec {
		case QSGD:
			for _, coding := range []string{plainCoding, elias} {
				for _, levels := range []int{1, 7, 255} {
					c.UpOptions.Coding, c.UpOptions.Levels = coding, levels
					all = append(all, c)
				}
			}
		case TopK, Sparse:
			for _, c.UpOptions.Indices = range []string{words, packed, bitmap} {
				all = append(all, c)
			}
		default:
			all = append(all, c)
		}
	}
	return all
}

// The messages have the sizes of the formulas, on random vectors, and a second codec decodes
// the same from them. Codecs without draws are idempotent: a decoded vector decodes to itself.
func TestMessagesHaveTheirSizes(t *testing.T) {
	for _, c := range settings() {
		for _, d := range []int{1, 2, 7, 64, 561, 1000} {
			for _, width := range []int{4, 8} {
				o := &c.UpOptions
				name := fmt.Sprintf("%s %s %s s=%d d=%d, %d bytes", c.Up, o.Coding, o.Indices, o.Levels, d, width)
				v := normal(d, uint64(d))
				sender, receiver := New(&o.Options, c.Up, width, false), New(&o.Options, c.Up, width, false)
				message := sender.encode(v, stream(d))
				want := sender.Bytes(d)
				if c.Up == Sparse {
					n := 0
					for _, x := range v {
						if x != 0 {
							n++
						}
					}
					want = (map[string]int{words: 32 * n, packed: n * indexWidth(d), bitmap: d}[o.Indices] + 8*width*n +
						7) / 8
				}
				if c.Up == QSGD && c.UpOptions.Coding == elias {
					want = 8*width + 7
					decoded := make([]float64, d)
					receiver.decode(message, decoded, stream(d))
					norm := math.Sqrt(kernel.SquaredNorm(v))
					for _, x := range decoded {
						level := 0
						if norm > 0 {
							level = int(math.Round(math.Abs(x) / norm * float64(c.UpOptions.Levels)))
						}
						if want += omegaBits(level + 1); level > 0 {
							want++
						}
					}
					want /= 8
				}
				expect.That(t, len(message) == want, "%s: a message has %d bytes, want %d", name, len(message), want)
				decoded, coded := make([]float64, d), slices.Clone(v)
				receiver.decode(message, decoded, stream(d))
				lossless := c.Up == None || c.Up == Sparse
				if n := sender.Code(coded, stream(d)); n != want || !slices.Equal(coded, decoded) && !lossless ||
					lossless && !slices.Equal(coded, v) {
					t.Errorf("%s: Code gives %d bytes and another vector", name, n)
				}
				if lossless {
					for j := range v {
						if width == 4 {
							v[j] = float64(float32(v[j]))
						}
					}
					expect.That(t, slices.Equal(decoded, v), "%s: not the vector", name)
				}
				if c.Up == None || c.Up == Sparse || c.Up == TopK || c.Up == Float16 {
					again := slices.Clone(decoded)
					if sender.Code(again, stream(1)); !slices.Equal(again, decoded) {
						t.Errorf("%s: the decoded vector does not decode to itself", name)
					}
				}
			}
		}
	}
}

func indexWidth(d int) int { return int(math.Ceil(math.Log2(float64(d)))) }

// omegaBits is the length of an Elias omega code by its definition.
func omegaBits(x int) int {
	n := 1
	for x > 1 {
		length := len(strconv.FormatInt(int64(x), 2))
		n += length
		x = length - 1
	}
	return n
}

// Lengths of 1, ..., 17 are those of the reference, and codes read back.
func TestEliasOmega(t *testing.T) {
	want := []int{1, 3, 3, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 11, 11}
	for x := uint64(1); x < 1<<20; x += 1 + x/64 {
		w := writer{}
		w.put(1, 1) // not at the start of a byte
		w.omega(x)
		length := 8*len(w.to) + w.n - 1
		expect.That(t, length == omegaBits(int(x)) && (x > uint64(len(want)) || length == want[x-1]),
			"the code of %d has %d bits", x, length)
		r := reader{from: w.message()}
		r.get(1)
		got := r.omega()
		expect.That(t, got == x, "%d is read as %d", x, got)
	}
}

// Every binary16 reads back, and numbers round to the nearest, ties to even.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		x := fromHalf(uint16(h))
		if math.IsNaN(x) {
			continue
		}
		got := toHalf(x)
		expect.Must(t, got == uint16(h), "%04x is %g, which becomes %04x", h, x, got)
		next := fromHalf(uint16(h + 1))
		if h&0x7fff >= 0x7bff {
			continue
		}
		even := uint16(h + h&1)
		middle := (x + next) / 2
		got = toHalf(middle)
		expect.Must(t, got == even, "%g, between %04x and the next, becomes %04x", middle, h, got)
		got = toHalf(math.Nextafter(middle, x))
		expect.Must(t, got == uint16(h), "just before %g: %04x, want %04x", middle, got, h)
		got = toHalf(math.Nextafter(middle, next))
		expect.Must(t, got == uint16(h+1), "just after %g: %04x, want %04x", middle, got, h+1)
	}
	// By hand: IEEE 754 binary16 of 1, -2, the largest and the least number, and beyond.
	for x, want := range map[float64]uint16{1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 1e6: 0x7bff, -1e6: 0xfbff, 0x1p-24: 1,
		0x1p-25: 0, math.Inf(-1): 0xfc00} {
		got := toHalf(x)
		expect.That(t, got == want, "%g becomes %04x, want %04x", x, got, want)
	}
	expect.That(t, math.IsNaN(fromHalf(toHalf(math.NaN()))), "NaN becomes a number")
}

// QSGD reaches the reference: sizes, exact variance, its bound, expected nonzeros and length
// of the Elias code.
func TestQSGDReachesTheReference(t *testing.T) {
	want := reference(t)
	for _, d := range []int{561, 7850} {
		v := sines(d)
		norm := math.Sqrt(kernel.SquaredNorm(v))
		for _, s := range []int{1, 2, 4, 8, 16, 64, 127, 255} {
			at := fmt.Sprintf("sin(i) d=%d s=%d qsgd ", d, s)
			c := Defaults()
			c.UpOptions.Levels = s
			codec := New(&c.UpOptions.Options, QSGD, 4, true)
			if got := codec.scheme.bits(d); float64(got) != want[at+"plain_bits"] ||
				float64(codec.Bytes(d)) != want[at+"plain_bytes"] {
				t.Errorf("%s%d bits, %d bytes", at, got, codec.Bytes(d))
			}
			if n := len(codec.encode(v, stream(s))); float64(n) != want[at+"plain_bytes"] {
				t.Errorf("%s: the message has %d bytes", at, n)
			}
			variance, nonzeros, length := 0.0, 0.0, 32.0
			for _, x := range v {
				r := float64(s) * math.Abs(x) / norm
				l := math.Floor(r)
				f := r - l
				variance += f * (1 - f)
				if l == 0 {
					nonzeros += f
				} else {
					nonzeros++
				}
				bits := func(level float64) float64 {
					n := omegaBits(int(level) + 1)
					if level > 0 {
						n++
					}
					return float64(n)
				}
				length += (1-f)*bits(l) + f*bits(l+1)
			}
			variance /= float64(s * s)
			near(t, at+"variance", variance, want[at+"var_rel"], 1e-12)
			near(t, at+"nonzeros", nonzeros, want[at+"nnz"], 1e-12)
			near(t, at+"Elias bits", length, want[at+"dense_bits"], 1e-12)
			bound := math.Min(float64(d)/float64(s*s), math.Sqrt(float64(d))/float64(s))
			near(t, at+"bound", bound, want[at+"bound"], 1e-12)
			expect.That(t, variance <= bound, "%s: the variance %g exceeds its bound %g", at, variance, bound)
		}
	}
}

// Over 10,000 draws the mean squared error of QSGD is its exact variance, below the bound, the mean is
// the vector, and the mean length of the Elias code is the expected one. The draws are those of one seed.
func TestQSGDVarianceOverDraws(t *testing.T) {
	const draws, d, s = 10_000, 561, 4
	v := sines(d)
	c := Defaults()
	c.UpOptions.Levels, c.UpOptions.Coding = s, elias
	codec := New(&c.UpOptions.Options, QSGD, 8, true)
	mean, decoded := make([]float64, d), make([]float64, d)
	variance, bytes := 0.0, 0.0
	for i := range draws {
		copy(decoded, v)
		bytes += float64(codec.Code(decoded, stream(i)))
		variance += relative(decoded, v) / draws
		kernel.Axpy(1.0/draws, decoded, mean)
	}
	// Reference values of section G, d = 561, s = 4; the standard error of the variance is below 0.003.
	const exact, bound, bits = 4.3326668243123, 5.92135964116, 848.96800756699
	near(t, "the mean squared error", variance, exact, 0.003)
	expect.That(t, variance <= bound, "the mean squared error %g exceeds the bound %g", variance, bound)
	near(t, "the distance of the mean from the vector", relative(mean, v), exact/draws, 0.01*exact/draws+1e-4)
	// The norm takes 64 bits instead of 32, and a message is filled up by 3.5 bits on average.
	near(t, "the mean length", 8*bytes/draws, bits+32+3.5, 0.005)
}

// Top-k reaches the reference: sizes of all three codes of indices and the residual; so does
// the scaled sign.
func TestTopKAndSignReachTheReference(t *testing.T) {
	want := reference(t)
	for d, sizes := range map[int][]int{561: {5, 28, 56}, 7850: {78, 392, 785}} {
		v := sines(d)
		sorted := make([]float64, d)
		for i := range v {
			sorted[i] = math.Abs(v[i])
		}
		slices.Sort(sorted)
		for i, k := range sizes {
			at := fmt.Sprintf("sin(i) d=%d k=%d topk ", d, k)
			c := Defaults()
			c.UpOptions.K.Share = []float64{0.01, 0.05, 0.1}[i]
			for _, size := range []struct {
				indices, name string
				width         int
			}{{words, "b32", 4}, {words, "b64", 8}, {packed, "packed", 4}, {bitmap, "bitmap", 4}} {
				c.UpOptions.Indices = size.indices
				codec := New(&c.UpOptions.Options, TopK, size.width, false)
				if n := len(codec.encode(v, stream(0))); float64(n) != want[at+size.name] || n != codec.Bytes(d) {
					t.Errorf("%s%s: %d bytes, want %g", at, size.name, n, want[at+size.name])
				}
			}
			decoded := slices.Clone(v)
			New(&c.UpOptions.Options, TopK, 8, false).Code(decoded, stream(0))
			near(t, at+"residual", relative(decoded, v), want[at+"residual"], 1e-12)
			kept := 0
			for j, x := range decoded {
				if x != 0 {
					kept++
					expect.Must(t, math.Abs(x) >= sorted[d-k] && x == v[j], "%s: value %d is %g", at, j, x)
				}
			}
			expect.That(t, kept == k && relative(decoded, v) <= 1-float64(k)/float64(d), "%s: %d values", at, kept)
			// Random-k's exact variance is d/k - 1.
			near(t, at+"random-k", float64(d)/float64(k)-1, want[at+"randk_var"], 1e-12)
		}
		// Section G: sizes, scales and relative errors of the scaled sign.
		sign := map[int][3]float64{561: {75, 0.637425598295571, 0.18895299938337},
			7850: {986, 0.636694109785082, 0.1893314444567}}[d]
		decoded := slices.Clone(v)
		c := Defaults()
		if n := New(&c.UpOptions.Options, Sign, 4, false).Code(decoded, stream(0)); float64(n) != sign[0] {
			t.Errorf("sign of %d values: %d bytes, want %g", d, n, sign[0])
		}
		copy(decoded, v)
		New(&c.UpOptions.Options, Sign, 8, false).Code(decoded, stream(0))
		near(t, "scale", math.Abs(decoded[0]), sign[1], 1e-13)
		near(t, "relative error of signs", relative(decoded, v), sign[2], 1e-12)
	}
}

// Of equal magnitudes top-k sends the first; k never exceeds d.
func TestTopKOfTies(t *testing.T) {
	c := Defaults()
	c.UpOptions.K.Count = 3
	v := []float64{1, -2, 2, -2, 2, 1}
	New(&c.UpOptions.Options, TopK, 8, false).Code(v, stream(0))
	if want := []float64{0, -2, 2, -2, 0, 0}; !slices.Equal(v, want) {
		t.Errorf("top 3: %v, want %v", v, want)
	}
	c.UpOptions.K.Count = 100
	n := New(&c.UpOptions.Options, TopK, 8, false).Code(v, stream(0))
	expect.That(t, n == (6*(64+3)+7)/8, "all of 6: %d bytes", n)
	for seed := range uint64(200) {
		s := rng.New(seed, rng.Synthetic, 1, 0)
		x := make([]uint64, 1+s.IntN(300))
		for i := range x {
			x[i] = uint64(s.IntN(1 + s.IntN(400)))
		}
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		k := 1 + s.IntN(len(x))
		got, want := kthLargest(x, k), sorted[len(x)-k]
		expect.Must(t, got == want, "seed %d: the %d-th largest is %d, want %d", seed, k, got, want)
	}
}

// The random codecs have the means and variances of their definitions, over draws of one seed.
func TestRandomCodecsHaveTheirVariances(t *testing.T) {
	const d, draws = 100, 20_000
	v := sines(d)
	c := Defaults()
	c.UpOptions.K.Share = 0.1 // k = 10
	for _, m := range []struct {
		codec     string
		unbiased  bool
		expected  float64 // factor of the mean
		variance  float64 // relative to |v|^2
		tolerance float64
	}{
		{RandomK, true, 1, 100.0/10 - 1, 0.02},
		{RandomK, false, 0.1, 1 - 10.0/100, 0.02},
		{Sketch, true, 1, 99.0 / 10, 0.02},
		{Sketch, false, 10.0 / 109, 99.0 / 109, 0.02},
	} {
		codec := New(&c.UpOptions.Options, m.codec, 8, m.unbiased)
		mean, decoded, expected := make([]float64, d), make([]float64, d), make([]float64, d)
		variance := 0.0
		for i := range draws {
			copy(decoded, v)
			codec.Code(decoded, stream(i))
			variance += relative(decoded, v) / draws
			kernel.Axpy(1.0/draws, decoded, mean)
		}
		kernel.Axpy(m.expected, v, expected)
		near(t, m.codec+" variance", variance, m.variance, m.tolerance)
		near(t, m.codec+" mean", relative(mean, expected), 0, 2*m.variance/(m.expected*m.expected)/draws)
	}
}

// Vectors that are no numbers neither panic nor become numbers.
func TestNoNumbers(t *testing.T) {
	for _, c := range settings() {
		for _, x := range []float64{math.NaN(), math.Inf(1), 1e300} {
			v := normal(64, 1)
			for j := range v {
				v[j] = x
			}
			New(&c.UpOptions.Options, c.Up, 8, true).Code(v, stream(0))
			if c.Up == Float16 && x == 1e300 {
				x = 65504 // the largest
			}
			if found := slices.ContainsFunc(v,
				func(y float64) bool {
					return y != 0 && (math.Abs(y) >= 1e299 || math.IsNaN(y) || y == 65504)
				}); !found {
				t.Errorf("%s of %g: %v", c.Up, x, v[:4])
			}
		}
		v := make([]float64, 64)
		New(&c.UpOptions.Options, c.Up, 4, true).Code(v, stream(0))
		expect.That(t, !slices.ContainsFunc(v, func(y float64) bool { return y != 0 }), "%s of zeros: %v", c.Up, v)
	}
}

func TestCodingAllocatesNothing(t *testing.T) {
	v := normal(500, 2)
	for _, c := range settings() {
		codec, w := New(&c.UpOptions.Options, c.Up, 8, true), make([]float64, len(v))
		n := testing.AllocsPerRun(10, func() { copy(w, v); codec.Code(w, stream(0)) })
		expect.That(t, n == 0, "%s: %g allocations", c.Up, n)
	}
}

// To be fed back a sketch decodes c S'S v with the c of the least expected error: since E |S'S v - v|^2 = (d - 1)/k
// |v|^2, and S'S v has the mean v, E |c S'S v - v|^2 is (1 - c)^2 + c^2 (d - 1)/k times |v|^2, least at
// c = k/(k + d - 1). A vector with a single value that is not 0 decodes to c times the value in its place, for any
// draw.
func TestScaleOfSketches(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {3, 10}, {10, 100}} {
		k, d := size[0], size[1]
		c := Defaults()
		c.UpOptions.K.Count = k
		least, at := math.Inf(1), 0.0
		for i := range 1_000_001 {
			x := float64(i) / 1e6
			if e := (1-x)*(1-x) + x*x*float64(d-1)/float64(k); e < least {
				least, at = e, x
			}
		}
		for j := range d {
			v := make([]float64, d)
			v[j] = 3
			New(&c.UpOptions.Options, Sketch, 8, false).Code(v, stream(j))
			expect.That(t, math.Abs(v[j]/3-at) <= 1e-6, "k = %d, d = %d: the scale is %g, want %g", k, d, v[j]/3, at)
		}
	}
}

// The FLOPs of each codec are those of a count: reading, adding, multiplying, comparing, rounding and
// drawing are one each.
func TestWorkOfCodecs(t *testing.T) {
	const d, k = 200, 10
	const add, multiply, compare, round, draw, magnitude = 1, 1, 1, 1, 1, 1
	for codec, want := range map[string][2]float64{
		None:    {0, 0},
		Float16: {d * round, d * round},
		// the norm, the levels; l/s times the norm
		QSGD: {d*(multiply+add) + d*(multiply+round+draw+compare), d * (multiply + multiply)},
		// a selection takes about 3 d
		TopK:    {d*magnitude + 3*d*compare + d*compare, k},
		Sparse:  {d * compare, 0},
		RandomK: {k * draw, k * (draw + multiply)},
		Sign:    {d*(magnitude+add) + d*compare, d},
		Sketch:  {d * (2*draw + multiply + add), d*(2*draw+multiply) + k*multiply}, // a column and a sign
	} {
		o := Defaults().DownOptions
		o.K.Count = k
		if encode, decode := New(&o, codec, 4, false).FLOPs(d); encode != want[0] || decode != want[1] {
			t.Errorf("%s: %g and %g FLOPs, counted %v", codec, encode, decode, want)
		}
	}
	n := len(Names())
	expect.That(t, n == 8, "%d codecs, counted 8", n)
}

// A norm that is sent in 4 bytes is rounded up: a norm below |v_i| would make r larger than s, and the mean of the
// decoded values smaller than v_i.
func TestNormsAreRoundedUp(t *testing.T) {
	for _, x := range []float64{1 + 1e-9, -1 - 1e-9, 3.3, 1e-30, 16777217} {
		c := Defaults()
		c.Up, c.UpOptions.Levels = QSGD, 1
		codec := New(&c.UpOptions.Options, QSGD, 4, false)
		v := []float64{x}
		for round := 0; v[0] == x || v[0] == 0; round++ {
			v[0] = x
			if codec.Code(v, stream(round)); round > 10 {
				t.Fatalf("%g is %g in each round", x, v[0])
			}
		}
		if up := math.Copysign(upTo32(math.Abs(x)), x); v[0] != up || math.Abs(v[0]) < math.Abs(x) {
			t.Errorf("%.12g is decoded as %.12g, want %.12g", x, v[0], up)
		}
	}
}

// The sign of 0 is plus, and so is that of -0.
func TestSignOfZero(t *testing.T) {
	c := Defaults()
	v := []float64{0, math.Copysign(0, -1), -4, 4}
	New(&c.UpOptions.Options, Sign, 8, false).Code(v, stream(0))
	expect.That(t, slices.Equal(v, []float64{2, 2, -2, 2}), "decoded as %v", v)
}
