package privacy

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// published returns the settings of Bonawitz et al., section 7: keys and shares of 256 bits.
func published(bits int) Config {
	p := Defaults()
	p.SecureAggregation, p.ValueBits = SecAgg, bits
	return p
}

// The abstract of Bonawitz et al. (CCS 2017): for 16-bit values, the expansion is 1.73 for
// 2^10 users and 2^20 values, and 1.98 for 2^14 users and 2^24 values, over sending data in
// the clear.
func TestExpansionOfThePaper(t *testing.T) {
	for _, c := range []struct {
		clients, values int
		expansion       float64
	}{{1 << 10, 1 << 20, 1.73}, {1 << 14, 1 << 24, 1.98}} {
		p := published(16)
		e := p.Exchange(c.clients)
		bytes := e.BytesDown() + e.BytesUp() + e.MaskedBytes(c.values)
		bytes -= float64(2 * e.Neighbors * cipherBytes) // which the paper does not count
		if got := bytes / float64(2*c.values); math.Abs(got-c.expansion) > 0.005 {
			t.Errorf("%d clients, %d values: expansion %.4f, want %.2f", c.clients, c.values, got, c.expansion)
		}
		// Section 7.1: 2 n a_K + (5 n - 4) a_S + m log2 R bits.
		n, ring := float64(c.clients), math.Ceil(math.Log2(float64(c.clients)*(1<<16-1)+1))
		want := (2*n*256 + (5*n-4)*256 + float64(c.values)*ring) / 8
		expect.That(t, bytes == want, "%d clients: %g bytes, want %g", c.clients, bytes, want)
	}
}

// Messages by hand: 10 clients, of which each has 4 neighbors.
func TestBytesOfSecAggPlus(t *testing.T) {
	p := Defaults()
	p.SecureAggregation, p.Neighbors, p.Threshold, p.ValueBits = SecAggPlus, 4, 0.6, 8
	e := p.Exchange(10)
	if e.Neighbors != 4 || e.Threshold != 3 || e.RingBits != 12 { // 10 * 255 + 1 = 2551 <= 4096
		t.Errorf("exchange %+v", e)
	}
	down := e.BytesDown()
	expect.That(t, down == 4*2*32+4*(64+28), "%g bytes down", down)
	up := e.BytesUp()
	expect.That(t, up == 2*32+4*(64+28)+4*32, "%g bytes up", up)
	if masked := e.MaskedBytes(7); masked != 11 { // 84 bits
		t.Errorf("%g bytes of masked values", masked)
	}
	small := p.Exchange(3)
	expect.That(t, small.Neighbors == 2 && small.Threshold == 2, "exchange in a small cohort %+v", small)
}

// The work of a client grows with its neighbors, and that of the server with the pairs that
// dropouts leave: the expansions of masks, m (n - d) + m d (n - d) in Bonawitz et al., section
// 7.1, are those of ServerFLOPs.
func TestMasksOfDropouts(t *testing.T) {
	p := published(16)
	e := p.Exchange(100)
	const values, dropped = 1000, 7
	responded := make([]bool, 100)
	for i := range responded {
		responded[i] = i >= dropped
	}
	pairs, ok := e.Unmask(responded, rng.Stream{})
	expect.That(t, pairs == dropped*(100-dropped) && ok, "%d pairs, %v", pairs, ok)
	mask := values * (976.0/64*3 + 1) // 23 bits of ring: 3 bytes a value
	expect.That(t, e.maskFLOPs(values) == mask, "a mask takes %g FLOPs, want %g", e.maskFLOPs(values), mask)
	if got, want := e.ServerFLOPs(93, pairs, values)-e.ServerFLOPs(93, 0, values),
		float64(pairs)*(mask+agreementFLOPs); math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g FLOPs for dropouts, want %g", got, want)
	}
	wide := p.Exchange(101)
	if got, want := wide.ClientFLOPs(2*values)-wide.ClientFLOPs(values),
		101*mask+4*values; math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g FLOPs for further values, want %g", got, want)
	}
}

// The sum of a cohort is unmasked exactly if enough of those respond that hold the shares of
// each client's secret.
func TestThreshold(t *testing.T) {
	p := Defaults()
	p.SecureAggregation, p.Threshold = SecAgg, 0.67
	for _, c := range []struct {
		clients, responses int
		ok                 bool
	}{{10, 7, true}, {10, 6, false}, {3, 3, true}, {3, 2, false}, {1, 1, true}, {1, 0, false}, {0, 0, false}} {
		responded := make([]bool, c.clients)
		for i := range c.responses {
			responded[i] = true
		}
		e := p.Exchange(c.clients)
		_, ok := e.Unmask(responded, rng.Stream{})
		expect.That(t, ok == c.ok, "%d of %d responses: %v", c.responses, c.clients, ok)
	}
}

// Under secagg+ the graph of a cohort is regular, and a silent neighborhood loses the round
// though most of the cohort responds.
func TestGraph(t *testing.T) {
	p := Defaults()
	p.SecureAggregation, p.Neighbors, p.Threshold = SecAggPlus, 6, 0.5
	const n = 40
	e := p.Exchange(n)
	lost := 0
	for round := range 200 {
		s := rng.New(1, rng.Privacy, -2, round)
		responded := make([]bool, n)
		for i := range responded {
			responded[i] = true
		}
		responded[round%n] = false // alone: its 6 neighbors respond
		if pairs, ok := e.Unmask(responded, s); pairs != 6 || !ok {
			t.Fatalf("one dropout: %d pairs, %v", pairs, ok)
		}
		for i := range responded {
			responded[i] = i%3 > 0 // 26 of 40
		}
		if _, ok := e.Unmask(responded, s); !ok {
			lost++
		}
	}
	// A client is lost with fewer than 3 responding neighbors of 6; under independent responses
	// with probability 0.65 that is 11.7 %, so that nearly no cohort of 40 is without one.
	expect.That(t, lost >= 150, "%d of 200 rounds lost", lost)
	p.Neighbors = 38 // nearly all: 26 responses are enough
	e = p.Exchange(n)
	responded := make([]bool, n)
	for i := range responded {
		responded[i] = i%3 > 0
	}
	if _, ok := e.Unmask(responded, rng.New(1, rng.Privacy, -2, 0)); !ok {
		t.Error("38 neighbors: lost with 26 of 40 responses")
	}
}

// field is the prime field of 65537 elements, which counts its operations.
type field struct{ products, sums int }

const prime = 65537

func (f *field) mul(x, y int) int { f.products++; return x * y % prime }
func (f *field) add(x, y int) int { f.sums++; return (x + y) % prime }

// share returns the share of a secret at a point: Shamir's polynomial by Horner's rule.
func (f *field) share(polynomial []int, at int) int {
	y := polynomial[len(polynomial)-1]
	for i := len(polynomial) - 2; i >= 0; i-- {
		y = f.add(f.mul(y, at), polynomial[i])
	}
	return y
}

// basis returns Lagrange's coefficients of the points 1, ..., t at 0. Differences of points and
// inverses are not counted.
func (f *field) basis(t int) []int {
	all := make([]int, t)
	for i := range all {
		above, below := 1, 1
		for j := range all {
			if j != i {
				above, below = f.mul(above, j+1), f.mul(below, ((j-i)%prime+prime)%prime)
			}
		}
		inverse := 1
		for range prime - 2 {
			inverse = inverse * below % prime
		}
		all[i] = f.mul(above, inverse)
	}
	return all
}

// The work of a client and of the server is that of a count by hand: of field operations while
// secrets are shared and reconstructed, of the blocks of ChaCha20 that seal shares, of the products of
// X25519's ladder, and of masks.
func TestWorkIsCounted(t *testing.T) {
	// additions, exclusive ors, rotations; RFC 8439: 20 rounds of 4, 16 additions
	const quarterRound, block = 4 + 4 + 4, 80*12 + 16
	const ladder = 255 * 10      // RFC 7748: 255 steps, each of 10 products and squares
	const product = 16 + 16 + 32 // of 4 words: products, additions, and as many for the reduction
	if prgFLOPs != block/64.0 || block != 80*quarterRound+16 || fieldFLOPs != product ||
		agreementFLOPs != ladder*product {
		t.Errorf("a byte of a mask takes %g, a product %d, an agreement %d", prgFLOPs, fieldFLOPs, agreementFLOPs)
	}
	for _, c := range []struct {
		protocol                    string
		clients, neighbors          int
		share                       float64
		shares, threshold, polygons int // the last: sets of points from which secrets are reconstructed
	}{
		{SecAgg, 12, 0, 0.5, 12, 6, 1},
		{SecAggPlus, 30, 8, 0.75, 8, 6, 30},
	} {
		p := Defaults()
		p.SecureAggregation, p.Threshold = c.protocol, c.share
		if c.neighbors > 0 {
			p.Neighbors = c.neighbors
		}
		e := p.Exchange(c.clients)
		e.RingBits = 20
		k := e.Neighbors
		const values = 17
		mask := values * (block/64.0*3 + 1) // 20 bits are 3 bytes
		// A client shares two secrets.
		f, secrets := field{}, [2][]int{make([]int, c.threshold), make([]int, c.threshold)}
		s := rng.New(1, rng.Privacy, 0, 0)
		shares := make([][2]int, c.shares)
		for i := range secrets {
			for j := range secrets[i] {
				secrets[i][j] = s.IntN(prime)
			}
			for at := range shares {
				shares[at][i] = f.share(secrets[i], at+1)
			}
		}
		sharing := (f.products + f.sums) * product // an addition counts as a product
		// Both shares of 32 bytes for a neighbor are a block; it seals and opens one of each.
		want := float64((2+2*k)*ladder*product+sharing+2*k*block) + float64(k+1)*mask + 4*values
		if got := e.ClientFLOPs(values); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: a client takes %.10g FLOPs, counted %.10g", c.protocol, got, want)
		}
		// The server reconstructs a secret of each client from t shares.
		f = field{}
		lagrange, secret := f.basis(c.threshold), 0
		expect.That(t, f.products <= 2*c.threshold*c.threshold && f.products >= 2*c.threshold*c.threshold-c.threshold,
			"coefficients of %d points take %d products", c.threshold, f.products)
		f = field{}
		for i, x := range lagrange {
			secret = f.add(secret, f.mul(x, shares[i][1]))
		}
		expect.That(t, secret == secrets[1][0], "the secret %d is reconstructed as %d", secrets[1][0], secret)
		const responses, pairs = 9, 5
		want = float64((c.polygons*2*c.threshold*c.threshold+c.clients*(f.products+f.sums))*product+
			pairs*ladder*product) + (responses+pairs)*mask + 2*values
		if got := e.ServerFLOPs(responses, pairs, values); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: the server takes %.10g FLOPs, counted %.10g", c.protocol, got, want)
		}
	}
}
