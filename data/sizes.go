package data

import (
	"strconv"
	"unsafe"
)

// SizesKnown reports whether Sizes neither reads files nor generates the set.
func (c Config) SizesKnown() bool {
	c, _ = c.OrFallback()
	return c.countable()
}

// Names returns the names of the clients of a file; nil: the configuration reads none that names clients.
func (c Config) Names(set *Set) (names []string) {
	if c.Path == "" || c.Partition.Method != "" || len(set.Clients) == 1 && set.Clients[0].Name == allTasks {
		return nil
	}
	for t := range set.Clients {
		names = append(names, set.Clients[t].Name)
	}
	return names
}

// Sizes returns the number of training rows of each device of a configuration, their Names, the number
// of features including the bias, and that of Outputs. It does not generate rows, unless they
// are skewed, shared among devices or partitioned, and does not prepare features.
func Sizes(cfg Config) (rows []int32, names []string, features, outputs int, err error) {
	cfg, _ = cfg.OrFallback()
	if !cfg.countable() {
		split, err := cfg.divided()
		if err != nil {
			return nil, nil, 0, 0, err
		}
		train, err := Share(split.Train, cfg.ClientsPerTask, cfg.SplitSeed())
		if err != nil {
			return nil, nil, 0, 0, err
		}
		for t := range train.Clients {
			rows = append(rows, int32(train.Clients[t].X.Rows))
		}
		return rows, cfg.Names(train), cfg.columns(train.Features), train.Outputs(), nil
	}
	if cfg.Source == SourceExternal {
		rows, _ := cfg.External.Rows.Of(cfg.External.Clients)
		return rows, nil, cfg.External.Features, 1, nil
	}
	resolved := cfg.Resolve().Synthetic
	rows = make([]int32, resolved.Clients)
	for t, n := range newGenerator(resolved, cfg.Seed).sizes {
		rows[t] = int32(cfg.partOf(trained, totalRows(n)))
	}
	return rows, nil, cfg.columns(resolved.Features), max(1, resolved.Classes), nil
}

// EqualSizes is Sizes of a configuration whose clients all have as many training rows, without a list of
// them; ok is false for others.
func EqualSizes(cfg Config) (clients int, rows int32, features, outputs int, ok bool) {
	s := cfg.Resolve().Synthetic
	switch {
	case cfg.Source == SourceExternal:
		n, err := strconv.ParseInt(string(cfg.External.Rows), 10, 32)
		return cfg.External.Clients, int32(n), cfg.External.Features, 1, err == nil
	case cfg.countable() && cfg.Source == SourceSynthetic && s.RowsMin == s.RowsMax:
		rows = int32(cfg.partOf(trained, totalRows(s.RowsMin)))
		return s.Clients, rows, cfg.columns(s.Features), max(1, s.Classes), true
	default:
		return 0, 0, 0, 0, false
	}
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
