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
	// "none", "secagg" (Bonawitz et al., CCS 2017: every client shares secrets with all others) or
	// "secagg+" (Bell et al., CCS 2020: with its neighbors in a sparse graph). The server sees sums
	// of updates only. Costs bytes, FLOPs and three further round trips (docs/methods.md#privacy)
	SecureAggregation string `toml:"secure_aggregation"`
	// options of secure aggregation
	SecureOptions `toml:"secure_aggregation_options"`
	// differential privacy of clients (McMahan et al., ICLR 2018): "none", "central" (the server
	// adds Gaussian noise to the sum of clipped updates) or "distributed" (each client adds its
	// share of the noise). Needs methods with weights = "equal". The metric epsilon is the privacy
	// spent (docs/methods.md#privacy)
	Mechanism string `toml:"mechanism"`
	// options of the mechanism
	MechanismOptions `toml:"mechanism_options"`
}

// SecureOptions are the options of secure aggregation.
type SecureOptions struct {
	// share of the clients that hold the shares of a secret which must respond to reconstruct it,
	// in (0, 1], rounded up: of the cohort (secagg) or of a client's neighbors (secagg+). With
	// fewer the server takes nothing: the round is lost (metric lost_rounds)
	Threshold float64 `toml:"threshold"`
	// secagg+: neighbors of each client, an even number; all others in cohorts that are not larger
	Neighbors int `toml:"neighbors" absent:"0: of secagg, all others"`
	// bits of a value before it is masked. A masked value has the fewest that hold the sum of a cohort
	ValueBits int `toml:"value_bits"`
	// values are clipped to [-value_range, value_range] and rounded to steps of
	// value_range/(2^(value_bits-1) - 1), at random and without bias
	ValueRange float64 `toml:"value_range"`
}

// MechanismOptions are the options of a mechanism of differential privacy.
type MechanismOptions struct {
	// largest Euclidean norm of a client's update; longer ones are scaled to it; "none": no limit
	Clip float64 `toml:"clip" word:"0: none"`
	// standard deviation of the noise on the sum of a round, as a multiple of clip. The distributed
	// mechanism reaches it when the whole cohort responds
	Noise float64 `toml:"noise_multiplier"`
	// delta of the guarantee (epsilon, delta)
	Delta float64 `toml:"delta"`
	// the cohorts that epsilon assumes. "fixed": of a fixed size, drawn uniformly, as selection =
	// "uniform" does (one client replaced); "poisson": each client by itself, as in most papers (one
	// client added or removed); "none": anything, without amplification by sampling (one client
	// added or removed)
	Accounting string `toml:"accounting"`
}

// Defaults returns the table's defaults: nothing is private.
func Defaults() Config {
	return Config{
		SecureAggregation: None, SecureOptions: SecureOptions{Threshold: 0.67, ValueBits: 22, ValueRange: 8},
		Mechanism: None, MechanismOptions: MechanismOptions{Clip: 1, Noise: 1, Delta: 1e-5, Accounting: Fixed},
	}
}

// Secure reports whether sums are aggregated securely, and Differential whether they are
// differentially private.
func (cfg *Config) Secure() bool       { return cfg.SecureAggregation != None }
func (cfg *Config) Differential() bool { return cfg.Mechanism != None }

// Noisy reports whether noise is added to clipped updates.
func (cfg *Config) Noisy() bool { return cfg.Differential() && cfg.Noise > 0 }

// On reports whether the table has any effect.
func (cfg *Config) On() bool { return cfg.Secure() || cfg.Differential() }

// Validate reports everything wrong with the table.
func (cfg *Config) Validate(c *config.Checker) {
	c.OneOf("secure_aggregation", cfg.SecureAggregation, None, SecAgg, SecAggPlus)
	options := c.In("secure_aggregation_options")
	if cfg.SecureAggregation == SecAggPlus {
		options.Require(cfg.Neighbors >= 2 && cfg.Neighbors <= 1e6 && cfg.Neighbors%2 == 0, "neighbors", cfg.Neighbors,
			"must be an even number in [2, 1e6] with secure_aggregation = \"secagg+\"")
	} else {
		options.Require(cfg.Neighbors == 0, "neighbors", cfg.Neighbors,
			"must be left out: only secure_aggregation = \"secagg+\" uses it")
	}
	cfg.SecureOptions.Validate(options)
	c.OneOf("mechanism", cfg.Mechanism, None, Central, Distributed)
	options = c.In("mechanism_options")
	options.Require(cfg.Clip > 0 || cfg.Noise == 0 || !cfg.Differential(), "clip", cfg.Clip,
		"must be positive, or noise_multiplier 0: the noise is a multiple of it")
	cfg.MechanismOptions.Validate(options)
}

// Validate reports everything wrong with the options.
func (o *SecureOptions) Validate(c *config.Checker) {
	c.Require(o.Threshold > 0 && o.Threshold <= 1, "threshold", o.Threshold, "must be in (0, 1]")
	c.Require(o.ValueBits >= 2 && o.ValueBits <= 32, "value_bits", o.ValueBits, "must be in [2, 32]")
	c.Require(o.ValueRange > 0 && o.ValueRange <= 1e12, "value_range", o.ValueRange, "must be in (0, 1e12]")
}

// Validate reports everything wrong with the options.
func (o *MechanismOptions) Validate(c *config.Checker) {
	c.Require(o.Clip >= 0 && o.Clip <= 1e12, "clip", o.Clip, "must be in [0, 1e12]")
	c.Require(o.Noise >= 0 && o.Noise <= 1e6, "noise_multiplier", o.Noise, "must be in [0, 1e6]")
	c.Require(o.Delta > 0 && o.Delta < 1, "delta", o.Delta, "must be in (0, 1)")
	c.OneOf("accounting", o.Accounting, Fixed, Poisson, None)
}
