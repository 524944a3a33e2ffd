// Package kernel holds the inner loops of the numerics: the dot product and the
// scaled sum that a coordinate step is made of. It must not know what the
// vectors mean.
package kernel

import "gonum.org/v1/gonum/floats"

// Dot returns the sum over i of x[i]*y[i]; it panics when the lengths differ.
func Dot(x, y []float64) float64 { return floats.Dot(x, y) }

// Axpy adds a*x to y; it panics when the lengths differ.
func Axpy(a float64, x, y []float64) { floats.AddScaled(y, a, x) }
