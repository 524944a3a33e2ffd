package privacy

import (
	"math"
	"testing"

	"fedsim/internal/rng"
)

// published returns the settings of Bonawitz et al., section 7: keys and shares of 256 bits,
// without the bytes that encryption adds.
func published(bits int) Config {
	p := Defaults()
	p.SecureAggregation, p.ValueBits, p.CipherBytes = SecAgg, bits, 0
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
		if got := bytes / float64(2*c.values); math.Abs(got-c.expansion) > 0.005 {
			t.Errorf("%d clients, %d values: expansion %.4f, want %.2f", c.clients, c.values, got, c.expansion)
		}
		// Section 7.1: 2 n a_K + (5 n - 4) a_S + m log2 R bits.
		n, ring := float64(c.clients), math.Ceil(math.Log2(float64(c.clients)*(1<<16-1)+1))
		if want := (2*n*256 + (5*n-4)*256 + float64(c.values)*ring) / 8; bytes != want {
			t.Errorf("%d clients: %g bytes, want %g", c.clients, bytes, want)
		}
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
	if down := e.BytesDown(); down != 4*2*32+4*(64+28) {
		t.Errorf("%g bytes down", down)
	}
	if up := e.BytesUp(); up != 2*32+4*(64+28)+4*32 {
		t.Errorf("%g bytes up", up)
	}
	if masked := e.MaskedBytes(7); masked != 11 { // 84 bits
		t.Errorf("%g bytes of masked values", masked)
	}
	if small := p.Exchange(3); small.Neighbors != 2 || small.Threshold != 2 {
		t.Errorf("exchange in a small cohort %+v", small)
	}
	if fewest, fits := p.Fits(10); fewest != 12 || !fits {
		t.Errorf("Fits: %d bits, %v", fewest, fits)
	}
	p.RingBits = 11
	if _, fits := p.Fits(10); fits {
		t.Error("11 bits hold 2550")
	}
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
	if pairs != dropped*(100-dropped) || !ok {
		t.Errorf("%d pairs, %v", pairs, ok)
	}
	mask := values * (976.0/64*3 + 1) // 23 bits of ring: 3 bytes a value
	if e.maskFLOPs(values) != mask {
		t.Errorf("a mask takes %g FLOPs, want %g", e.maskFLOPs(values), mask)
	}
	if got, want := e.ServerFLOPs(93, pairs, values)-e.ServerFLOPs(93, 0, values), float64(pairs)*(mask+agreementFLOPs); math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g FLOPs for dropouts, want %g", got, want)
	}
	wide := p.Exchange(101)
	if got, want := wide.ClientFLOPs(2*values)-wide.ClientFLOPs(values), 101*mask+4*values; math.Abs(got-want) > 1e-9*want {
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
		if _, ok := e.Unmask(responded, rng.Stream{}); ok != c.ok {
			t.Errorf("%d of %d responses: %v", c.responses, c.clients, ok)
		}
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
	if lost < 150 {
		t.Errorf("%d of 200 rounds lost", lost)
	}
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
