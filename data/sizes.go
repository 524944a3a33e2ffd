package data

import "unsafe"

// Sizes returns how many rows each device of a configuration trains on, and the
// number of features, bias included. Rows that a generator would make are not
// made, unless they are thinned out or dealt to several devices afterwards.
func Sizes(cfg Config) (rows []int32, features int, err error) {
	if !cfg.countable() {
		split, err := Prepare(cfg)
		if err != nil {
			return nil, 0, err
		}
		rows = make([]int32, len(split.Train.Tasks))
		for t := range rows {
			rows[t] = int32(split.Train.Tasks[t].X.Rows)
		}
		return rows, split.Train.Features, nil
	}
	resolved := cfg.Resolve().Synthetic
	rows = make([]int32, resolved.Tasks)
	for t, n := range newGenerator(resolved, cfg.Seed).sizes {
		rows[t] = int32(trainingRows(totalRows(n), cfg.TestFraction))
	}
	features = resolved.Features
	if cfg.Bias {
		features++
	}
	return rows, features, nil
}

// LeastMemory returns how many bytes the set of a configuration takes at least, when
// it is generated; what files hold is not looked at. It is for refusing what no
// machine has: of a set that is not refused more is held while it is made.
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
	return float64(s.Tasks) * (float64(unsafe.Sizeof(Task{})) + float64(float64(s.RowsMin)*row))
}
