package privacy

import (
	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/results"
)

func init() {
	secure := rooms.Trait{
		Key: "privacy.secure_aggregation", Metric: results.LostRounds,
		With: []string{"privacy.secure_aggregation_options.threshold", "privacy.secure_aggregation_options.value_bits",
			"privacy.secure_aggregation_options.value_range", "privacy.secure_aggregation_options.neighbors"},
		Used: func(s rooms.Settings) (any, bool) { cfg := of(s); return cfg.SecureAggregation, cfg.Secure() },
		// the rules of runs say under which costs it is
		Off: `"none"`, AnyCost: true, AllRounds: true, Instead: "protects them and sends the bytes and FLOPs of that",
	}
	differential := rooms.Trait{
		Key: "privacy.mechanism", Metric: results.Epsilon,
		With: []string{"privacy.mechanism_options.clip", "privacy.mechanism_options.noise_multiplier",
			"privacy.mechanism_options.delta", "privacy.mechanism_options.accounting"},
		Used: func(s rooms.Settings) (any, bool) { cfg := of(s); return cfg.Mechanism, cfg.Differential() },
		Off:  `"none"`, AnyCost: true, AllRounds: true, Instead: "clips them and adds the noise",
	}
	rooms.Register(rooms.Room{
		Name: "privacy", Place: 3,
		Keys: []rooms.Keys{{Table: "privacy", After: "federation", New: func() any { cfg := Defaults(); return &cfg },
			Doc: "secure aggregation and differential privacy of updates (docs/methods.md#privacy)"}},
		Check:    func(c *config.Checker, s rooms.Settings) { of(s).Validate(c.In("privacy")) },
		CheckRun: checkRun,
		Traits:   []rooms.Trait{differential, secure},
		Privacy: func(s rooms.Settings) algorithms.Privacy {
			if cfg := of(s); cfg.On() {
				return cfg
			}
			return nil
		},
		Note: note,
	})
}

func of(s rooms.Settings) *Config { return config.Part[Config](s.Keys) }

// note says what epsilon assumes.
func note(s rooms.Settings) string {
	cfg := of(s)
	switch {
	case !cfg.Noisy():
		return ""
	case cfg.Accounting == Poisson && !s.Federation.AsksAll():
		return "epsilon assumes that each client is in a cohort by itself (Poisson): cohorts here have a fixed size, " +
			"for which privacy.mechanism_options.accounting = \"fixed\" is a guarantee"
	case cfg.Mechanism == Distributed && !cfg.Secure():
		return "epsilon is that of the sum: without privacy.secure_aggregation the server sees each update with its " +
			"share of the noise alone"
	case cfg.Mechanism == Distributed:
		return "epsilon is that of Gaussian noise: rounding and secure_aggregation_options.value_range change it, " +
			"which the accountant does not count"
	default:
		return ""
	}
}
