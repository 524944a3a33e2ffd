package privacy

import (
	"math"
	"math/bits"

	"fedsim/algorithms"
)

// Operations of the primitives, in FLOPs: one 32-bit or 64-bit integer operation is one.
const (
	// prgFLOPs is the cost of a pseudorandom byte: a block of ChaCha20 (RFC 8439) makes 64
	// bytes by 80 quarter rounds of 12 operations and 16 additions.
	prgFLOPs = 976.0 / 64
	// fieldFLOPs is the cost of a product in a field of 256 bits: 16 products of 64-bit words,
	// their 16 additions, and as many again for the reduction. A sum is charged as a product.
	fieldFLOPs = 64
	// agreementFLOPs is the cost of a key pair or an agreement on X25519 (RFC 7748): 255 steps
	// of the Montgomery ladder with 10 products each.
	agreementFLOPs = 255 * 10 * fieldFLOPs
	// roundingFLOPs is the cost of rounding a value to the ring, and unroundingFLOPs of scaling
	// one of the sum back.
	roundingFLOPs, unroundingFLOPs = 4, 2

	keyBytes    = 32 // of a public key: X25519, RFC 7748
	shareBytes  = 32 // of a share of a secret of 256 bits
	cipherBytes = 28 // that AES-GCM adds to the two shares for a client: nonce of 12, tag of 16, NIST SP 800-38D
)

// Exchange is the messages and the work of secure aggregation for one client in a cohort.
type Exchange struct {
	Clients   int // the cohort, n
	Neighbors int // with which a client shares secrets, k; n-1 under "secagg"
	Threshold int // shares that reconstruct a secret, t
	RingBits  int // of a masked value
	shares    int // of a secret; under "secagg" with one for the client itself
	config    *Config
}

// Masking returns the exchange in a cohort of n clients; nil: updates are not masked.
func (cfg *Config) Masking(n int) algorithms.Masking {
	if !cfg.Secure() {
		return nil
	}
	e := cfg.Exchange(n)
	return &e
}

// Exchange returns the exchange in a cohort of n clients.
func (cfg *Config) Exchange(n int) Exchange {
	e := Exchange{Clients: n, Neighbors: max(n-1, 0), config: cfg}
	e.shares = n
	if cfg.SecureAggregation == SecAggPlus {
		e.Neighbors = min(e.Neighbors, cfg.Neighbors)
		e.shares = e.Neighbors
	}
	e.Threshold = max(1, int(math.Ceil(cfg.Threshold*float64(e.shares))))
	e.RingBits = cfg.fewestBits(n)
	return e
}

// fewestBits returns the bits of a ring that holds the sum of n values: log2 of
// n (2^value_bits - 1) + 1, rounded up (Bonawitz et al., section 7.1).
func (cfg *Config) fewestBits(n int) int {
	high, low := bits.Mul64(uint64(max(n, 1)), 1<<cfg.ValueBits-1)
	if high > 0 {
		return 64 + bits.Len64(high)
	}
	return bits.Len64(low)
}

// RoundTrips returns how many round trips secure aggregation adds to the one of a round without
// it: keys, shares, masked values and the shares to unmask them take four.
func (e *Exchange) RoundTrips() int { return 3 }

// BytesDown returns the bytes that the server sends a client beyond the model: two public keys of each
// neighbor, and the encrypted shares of both secrets from each.
func (e *Exchange) BytesDown() float64 {
	return float64(e.Neighbors * (2*keyBytes + e.sealed()))
}

// BytesUp returns the bytes that a client sends beyond its masked values: its two public keys, the
// encrypted shares of its two secrets for each neighbor, and one share of each client whose
// shares it holds.
func (e *Exchange) BytesUp() float64 {
	return float64(2*keyBytes + e.Neighbors*e.sealed() + e.shares*shareBytes)
}

// sealed is the size of two shares encrypted together.
func (e *Exchange) sealed() int { return 2*shareBytes + cipherBytes }

// MaskedBytes returns the size of a vector of masked values.
func (e *Exchange) MaskedBytes(values int) float64 {
	return math.Ceil(float64(values) * float64(e.RingBits) / 8)
}

// maskFLOPs is the cost of a mask of some values, and of adding it.
func (e *Exchange) maskFLOPs(values int) float64 {
	return float64(float64(values) * (float64(prgFLOPs*float64((e.RingBits+7)/8)) + 1))
}

// ClientFLOPs returns the work of a client on some values: two key pairs, two agreements
// with each neighbor, the shares of two secrets, their encryption and that of others,
// rounding, and a mask for itself and for each neighbor. A share is a polynomial of t coefficients by Horner's
// rule: t - 1 products and as many sums.
func (e *Exchange) ClientFLOPs(values int) float64 {
	k := float64(e.Neighbors)
	keys := float64((2 + float64(2*k)) * agreementFLOPs)
	shares := float64(float64(e.shares) * float64(4*fieldFLOPs*(e.Threshold-1)))
	seal := float64(2 * k * float64(2*shareBytes) * prgFLOPs)
	masks := float64((k + 1) * e.maskFLOPs(values))
	return keys + shares + seal + masks + float64(roundingFLOPs*float64(values))
}

// ServerFLOPs returns the work of the server to unmask a sum of some values. responses is how
// many clients have responded, and pairs how many pairs of neighbors there are of which one
// has responded and the other has not. The server reconstructs a secret of every client from t shares:
// Lagrange's coefficients take 2 t^2 products for each set of points, and a secret t products and sums. It
// expands the mask of each response, and agrees on and expands the mask of each such pair.
func (e *Exchange) ServerFLOPs(responses, pairs, values int) float64 {
	t := float64(e.Threshold)
	bases := float64(e.Clients) // each neighborhood reconstructs from other points
	if e.config.SecureAggregation == SecAgg {
		bases = 1
	}
	reconstruct := float64((float64(bases*t*t) + float64(float64(e.Clients)*t)) * 2 * fieldFLOPs)
	masks := float64(float64(responses+pairs) * e.maskFLOPs(values))
	return reconstruct + masks + float64(float64(pairs)*agreementFLOPs) + float64(unroundingFLOPs*float64(values))
}

// Unmask reports whether the server can unmask the sum of the responses of a cohort: enough
// clients that hold shares of the secret of each one have responded. pairs is that of
// [Exchange.ServerFLOPs]. Under "secagg+" the neighbors of a client are the nearest in a
// random order of the cohort around a circle (Bell et al., section 3), drawn from s.
func (e *Exchange) Unmask(responded []bool, s algorithms.Stream) (pairs int, ok bool) {
	n, count := len(responded), 0
	for _, is := range responded {
		if is {
			count++
		}
	}
	if n == 0 {
		return 0, false
	}
	if e.Neighbors == n-1 {
		ok = true
		for i := range responded {
			held := count // "secagg": a client holds a share of its own secret
			if e.shares < n && responded[i] {
				held--
			}
			ok = ok && held >= e.Threshold
		}
		return count * (n - count), ok
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	s.Shuffle(order)
	ok = true
	for i := range order {
		held := 0
		for step := 1; step <= e.Neighbors/2; step++ {
			for _, j := range [...]int{(i + step) % n, (i - step + n) % n} {
				if responded[order[j]] {
					held++
				}
			}
		}
		ok = ok && held >= e.Threshold
		if !responded[order[i]] {
			pairs += held
		}
	}
	return pairs, ok
}
