package data

import "unsafe"

// SizesKnown reports whether Sizes neither reads files nor generates the set.
func (c Config) SizesKnown() bool {
	c, _ = c.OrFallback()
	return c.countable()
}

// Sizes returns the number of training rows of each device of a configuration, the number
// of features including the bias, and that of Outputs. It does not generate rows, unless they
// are skewed, shared among devices or partitioned.
func Sizes(cfg Config) (rows []int32, features, outputs int, err error) {
	cfg, _ = cfg.OrFallback()
	if !cfg.countable() {
		split, err := Prepare(cfg)
		if err != nil {
			return nil, 0, 0, err
		}
		rows = make([]int32, len(split.Train.Clients))
		for t := range rows {
			rows[t] = int32(split.Train.Clients[t].X.Rows)
		}
		return rows, split.Train.Features, split.Train.Outputs(), nil
	}
	if cfg.Source == SourceExternal {
		rows, _ := cfg.External.Rows.of(cfg.External.Clients)
		return rows, cfg.External.Features, 1, nil
	}
	resolved := cfg.Resolve().Synthetic
	rows = make([]int32, resolved.Clients)
	for t, n := range newGenerator(resolved, cfg.Seed).sizes {
		rows[t] = int32(cfg.partOf(trained, totalRows(n)))
	}
	features = resolved.Features
	if cfg.Bias {
		features++
	}
	return rows, features, max(1, resolved.Classes), nil
}

// LeastMemory returns a lower bound of the memory of a generated set, in bytes; 0 for
// sets from files. It serves to reject sets that no machine can hold. Generating a set
// takes more memory.
func (c Config) LeastMemory() float64 {
	if c.Source != SourceSynthetic {
		return 0
	}
	s := c.Resolve().Synthetic
	value := 8.0
	if c.single() {
		value = 4
	}
	row := 8.0 // its label
	if c.Resident {
		row += float64(value * float64(s.Features))
	}
	return float64(s.Clients) * (float64(unsafe.Sizeof(Client{})) + float64(float64(s.RowsMin)*row))
}
