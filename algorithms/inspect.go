package algorithms

import (
	"slices"

	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// Inspected is an Algorithm that shows the tentative work of devices.
type Inspected interface {
	Algorithm
	// Update returns the tentative update of a device, between its Solve and its Commit or
	// Discard. It changes nothing, and may be called for several devices at once.
	Update(device int) Update
}

// Update is the tentative work of a device.
type Update struct {
	Array  string // what Values are, in errors
	Values []float64
	Single []float32 // the values of a model in single precision; then Values are nil

	// Of a method with Description.Theta: the device's dual variables as the server has them and
	// after its work, the model that it was sent and the curvature of its subproblem.
	Duals, Next, Weights []float64
	Curvature            float64
}

// Theta returns theta_t^h of the work of a device in this round (eq. localSolutionQuality2a): 0
// exact, 1 no progress. It is that of a method with Description.Theta.
func (u *Update) Theta(p *mtl.Problem, device int) float64 {
	return p.Subproblem(device, u.Curvature).Theta(u.Duals, u.Next, u.Weights)
}

// Finite reports whether no number is NaN or infinite.
func (u *Update) Finite() bool {
	sum := 0.0
	for _, x := range u.Values {
		sum += float64(x * 0) // NaN for both
	}
	for _, x := range u.Single {
		sum += float64(x * 0)
	}
	return sum == 0
}

// Broken names the array that has NaN or infinities, with the first of those values in a model whose values
// have names: that of p, which may be nil. It is empty if all are finite.
func (u *Update) Broken(p *mtl.Problem) string {
	if u.Finite() {
		return ""
	}
	at := slices.IndexFunc(u.Values, func(x float64) bool { return x*0 != 0 }) // NaN for both
	if at < 0 {
		at = slices.IndexFunc(u.Single, func(x float32) bool { return x*0 != 0 })
	}
	if p == nil || (len(u.Values)+len(u.Single))%p.Values() != 0 {
		return u.Array
	}
	name := p.ValueName(at % p.Values())
	if name == "" {
		return u.Array
	}
	return u.Array + ", first in " + name
}

// Deviations writes the squared distance of each of the late updates of a method from the mean of
// the fresh ones, of which there is at least one.
func Deviations(of Inspected, fresh, late []int32, into []float64) {
	first := of.Update(int(fresh[0]))
	mean := make([]float64, len(first.Values)+len(first.Single))
	for _, t := range fresh {
		if u := of.Update(int(t)); u.Single != nil {
			kernel.Axpy32(1/float64(len(fresh)), u.Single, mean)
		} else {
			kernel.Axpy(1/float64(len(fresh)), u.Values, mean)
		}
	}
	for i, t := range late {
		if u := of.Update(int(t)); u.Single != nil {
			into[i] = squaredDistance(u.Single, mean)
		} else {
			into[i] = squaredDistance(u.Values, mean)
		}
	}
}

// squaredDistance returns |x - y|^2.
func squaredDistance[T float32 | float64](x []T, y []float64) (sum float64) {
	for j, u := range x {
		sum += float64((float64(u) - y[j]) * (float64(u) - y[j]))
	}
	return sum
}

// Update returns the sub-gradient.
func (m *mbSGD) Update(device int) Update {
	return Update{Array: "gradient", Values: m.gradient.Row(device)}
}

// Update returns the change of v, and the subproblem that it solves before gamma scales it.
func (d *Dual) Update(device int) Update {
	return Update{
		Array: "change of v", Values: d.Delta.Row(device),
		Duals: d.Duals.Alpha[device], Next: d.Next[device], Weights: d.Weights(device), Curvature: d.Curvature(device),
	}
}
