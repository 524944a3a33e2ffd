package privacy

import "fedsim/config"

// The protocols of secure aggregation, the mechanisms of differential privacy, and the
// assumptions on the cohorts under which the accountant computes epsilon.
const (
	None = "none"

	SecAgg     = "secagg"  // Bonawitz et al., CCS 2017
	SecAggPlus = "secagg+" // Bell et al., CCS 2020

	Central     = "central"     // the server adds the noise to the sum
	Distributed = "distributed" // each device adds its share of the noise

	Poisson = "poisson" // each client is in a cohort independently
	Fixed   = "fixed"   // cohorts have a fixed size, without replacement
)

// Config is the table [privacy] of a scenario.
type Config struct {
	SecureAggregation string  `toml:"secure_aggregation" doc:"\"none\", \"secagg\" (Bonawitz et al., CCS 2017: every client shares secrets with all others) or \"secagg+\" (Bell et al., CCS 2020: with its neighbors in a sparse graph). The server sees sums of updates only. Costs bytes, FLOPs and three further round trips (docs/privacy.md)"`
	Threshold         float64 `toml:"threshold" doc:"share of the clients that hold the shares of a secret which must respond to reconstruct it, in (0, 1], rounded up: of the cohort (secagg) or of a client's neighbors (secagg+). With fewer the server takes nothing: the round is lost (metric lost_rounds)"`
	Neighbors         int     `toml:"neighbors" doc:"secagg+: neighbors of each client, an even number; all others in cohorts that are not larger"`
	ValueBits         int     `toml:"value_bits" doc:"secure aggregation: bits of a value before it is masked"`
	ValueRange        float64 `toml:"value_range" doc:"secure aggregation: values are clipped to [-value_range, value_range] and rounded to steps of value_range/(2^(value_bits-1) - 1), at random and without bias"`
	RingBits          int     `toml:"ring_bits" doc:"secure aggregation: bits of a masked value; 0: the fewest that hold the sum of a cohort"`
	KeyBytes          int     `toml:"key_bytes" doc:"secure aggregation: size of a public key (X25519: 32 bytes, RFC 7748)"`
	ShareBytes        int     `toml:"share_bytes" doc:"secure aggregation: size of a share of a secret of 256 bits"`
	CipherBytes       int     `toml:"cipher_bytes" doc:"secure aggregation: bytes that encryption adds to the two shares for a client (AES-GCM: nonce of 12 bytes and tag of 16, NIST SP 800-38D)"`

	Mechanism  string  `toml:"mechanism" doc:"differential privacy of clients (McMahan et al., ICLR 2018): \"none\", \"central\" (the server adds Gaussian noise to the sum of clipped updates) or \"distributed\" (each client adds its share of the noise). Needs methods with weights = \"equal\". The metric epsilon is the privacy spent (docs/privacy.md)"`
	Clip       float64 `toml:"clip" doc:"differential privacy: largest Euclidean norm of a client's update; longer ones are scaled to it; 0: no limit"`
	Noise      float64 `toml:"noise_multiplier" doc:"differential privacy: standard deviation of the noise on the sum of a round, as a multiple of clip. The distributed mechanism reaches it when the whole cohort responds"`
	Delta      float64 `toml:"delta" doc:"differential privacy: delta of the guarantee (epsilon, delta)"`
	Accounting string  `toml:"accounting" doc:"differential privacy: the cohorts that epsilon assumes. \"fixed\": of a fixed size, drawn uniformly, as selection = \"uniform\" does (one client replaced); \"poisson\": each client by itself, as in most papers (one client added or removed); \"none\": anything, without amplification by sampling (one client added or removed)"`
}

// Defaults returns the table's defaults: nothing is private.
func Defaults() Config {
	return Config{
		SecureAggregation: None, Threshold: 0.67, ValueBits: 22, ValueRange: 8, KeyBytes: 32, ShareBytes: 32, CipherBytes: 28,
		Mechanism: None, Clip: 1, Noise: 1, Delta: 1e-5, Accounting: Fixed,
	}
}

// Secure reports whether sums are aggregated securely, and Differential whether they are
// differentially private. Both are false without a table.
func (p *Config) Secure() bool       { return p != nil && p.SecureAggregation != None }
func (p *Config) Differential() bool { return p != nil && p.Mechanism != None }

// On reports whether the table has any effect.
func (p *Config) On() bool { return p.Secure() || p.Differential() }

// Validate reports everything wrong with the table.
func (p *Config) Validate(c *config.Checker) {
	c.OneOf("secure_aggregation", p.SecureAggregation, None, SecAgg, SecAggPlus)
	c.Require(p.Threshold > 0 && p.Threshold <= 1, "threshold", p.Threshold, "must be in (0, 1]")
	if p.SecureAggregation == SecAggPlus {
		c.Require(p.Neighbors >= 2 && p.Neighbors <= 1e6 && p.Neighbors%2 == 0, "neighbors", p.Neighbors, "must be an even number in [2, 1e6] with secure_aggregation = \"secagg+\"")
	} else {
		c.Require(p.Neighbors == 0, "neighbors", p.Neighbors, "must be left out: only secure_aggregation = \"secagg+\" has a use for it")
	}
	c.Require(p.ValueBits >= 2 && p.ValueBits <= 32, "value_bits", p.ValueBits, "must be in [2, 32]")
	c.Require(p.ValueRange > 0 && p.ValueRange <= 1e12, "value_range", p.ValueRange, "must be in (0, 1e12]")
	c.Require(p.RingBits == 0 || p.RingBits > p.ValueBits && p.RingBits <= 64, "ring_bits", p.RingBits, "must be 0, or above value_bits and at most 64")
	for _, size := range []struct {
		key   string
		bytes int
	}{{"key_bytes", p.KeyBytes}, {"share_bytes", p.ShareBytes}, {"cipher_bytes", p.CipherBytes}} {
		c.Require(size.bytes >= 0 && size.bytes <= 1e6, size.key, size.bytes, "must be in [0, 1e6]")
	}
	c.OneOf("mechanism", p.Mechanism, None, Central, Distributed)
	c.Require(p.Clip >= 0 && p.Clip <= 1e12, "clip", p.Clip, "must be in [0, 1e12]")
	c.Require(p.Noise >= 0 && p.Noise <= 1e6, "noise_multiplier", p.Noise, "must be in [0, 1e6]")
	c.Require(p.Clip > 0 || p.Noise == 0 || !p.Differential(), "clip", p.Clip, "must be positive, or noise_multiplier 0: the noise is a multiple of it")
	c.Require(p.Delta > 0 && p.Delta < 1, "delta", p.Delta, "must be in (0, 1)")
	c.OneOf("accounting", p.Accounting, Fixed, Poisson, None)
}
