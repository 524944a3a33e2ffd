package data

import (
	"fmt"
	"math"

	"fedsim/config"
)

// The precisions of rows in memory.
const (
	PrecisionDouble = "float64"
	PrecisionSingle = "float32"
)

// single reports whether rows are in single precision.
func (c Config) single() bool { return c.Precision == PrecisionSingle }

// round converts the rows of a set in memory to the configured precision. It fails with
// a config.Problem for values out of range.
func (c Config) round(set *Set) error {
	if !c.single() {
		return nil
	}
	for t := range set.Clients {
		task := &set.Clients[t]
		narrow := NewSingle(task.X.Rows, task.X.Cols)
		for i := range task.X.Rows {
			for j, v := range task.X.Row(i) {
				if math.IsInf(float64(float32(v)), 0) {
					return config.Problem{Key: "data.precision", Value: c.Precision, Want: fmt.Sprintf(
						"must be %q: feature %d of row %d of client %q of %s is %g, float32 ends at 3.4e38",
						PrecisionDouble, j+1, i+1, task.Name, set.Name, v)}
				}
			}
			narrow.copyRow(i, &task.X, i)
		}
		task.X = narrow
	}
	return nil
}
