package data

import "math"

// The precisions of rows in memory.
const (
	PrecisionDouble = "float64"
	PrecisionSingle = "float32"
)

// single reports whether rows are in single precision.
func (c Config) single() bool { return c.Precision == PrecisionSingle }

// columns returns the number of columns of prepared rows with so many features: the bias is one more.
func (c *Config) columns(features int) int {
	if c.Bias {
		return features + 1
	}
	return features
}

// narrow rounds x to single precision. It returns the first index of a value that is too large, or -1.
func narrow(into []float32, x []float64) int {
	for j, v := range x {
		into[j] = float32(v)
		if math.IsInf(float64(into[j]), 0) {
			return j
		}
	}
	return -1
}
