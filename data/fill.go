package data

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/internal/tools/quote"
)

// fillIn replaces missing values in all parts by the mean of the feature over the
// training rows of all tasks that have it, summed in task and row order. It fails with a
// config.Problem if none has it.
func (c *Config) fillIn(split *Split) error {
	if missing := &split.Train.Missing; missing.Values == 0 || missing.Dropped {
		return nil
	}
	means, known := make([]float64, split.Train.Features), make([]float64, split.Train.Features)
	split.Train.eachRow(func(x []float64) {
		for j, v := range x {
			if !math.IsNaN(v) {
				means[j] += v
				known[j]++
			}
		}
	})
	for j := range means {
		if known[j] == 0 {
			return config.Problem{Key: "data.missing", Value: MissingMean, Want: fmt.Sprintf(
				"no training row of %s has a value of the feature %s: leave it out with data.drop_columns", c.Path,
				quote.Text(split.Train.FeatureNames[j]))}
		}
		means[j] /= known[j]
	}
	split.gather()
	for _, part := range split.all() {
		for t := range part.Clients {
			for i := range part.Clients[t].X.Rows {
				for j, v := range part.Clients[t].X.Row(i) {
					if math.IsNaN(v) {
						part.Clients[t].X.Row(i)[j] = means[j]
					}
				}
			}
		}
	}
	return nil
}
