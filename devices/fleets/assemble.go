package fleets

import (
	"cmp"
	"math"
	"slices"

	"fedsim/devices"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
	"fedsim/network"
)

// Assemble returns the devices and links of n devices of a valid fleet. rows are the
// training rows of each device; with nil, no correlation with data applies.
//
// Speed and rates are correlated by a Gaussian copula. A device has normal scores of its
// speed, z, and its rate, y:
//
//	z = r_d d + sqrt(1 - r_d^2) e,   y = r_l z + sqrt(1 - r_l^2) e'.
//
// Here e and e' are drawn from (seed, rng.Spread, device, 0) and (.., 1), like the spreads in
// devices and network. d = Phi^-1((rank of n_t - 1/2)/n) is the score of the training
// rows, with random ranks among equal n_t. r = 2 sin(pi rho/6) converts a rank
// correlation rho to that of normal scores (Pearson 1907). Speed is then multiplied by
// exp(s z - s^2/2) and both rates by exp(s' y - s'^2/2), with s and s' of the class.
//
// So a device depends only on the seed and its number, unless its speed is correlated with data,
// which are ranked among all n devices.
func (f *Fleet) Assemble(n int, rows []int32, seed uint64) (devices.Mix, network.Mix) {
	class := f.order(n, seed)
	machines, links := devices.Mix{Class: class}, network.Mix{Class: class}
	var speeds, rates []lognormal.Multiplier
	for i := range f.Classes {
		k := &f.Classes[i]
		machines.Profiles, machines.Overheads = append(machines.Profiles, k.machine()),
			append(machines.Overheads, k.Overheads)
		links.Profiles = append(links.Profiles, k.link())
		speeds, rates = append(speeds, lognormal.Of(k.SpeedSpread)), append(rates, lognormal.Of(k.RateSpread))
	}
	if slices.ContainsFunc(f.Classes, func(k Class) bool { return k.SpeedSpread > 0 }) {
		machines.Speed = make([]float64, n)
	}
	if slices.ContainsFunc(f.Classes, func(k Class) bool { return k.RateSpread > 0 }) {
		links.Rate = make([]float64, n)
	}
	if machines.Speed == nil && links.Rate == nil {
		return machines, links
	}
	var data []float64
	if rows != nil && f.DataSpeed != 0 {
		data = scores(rows, seed)
	}
	own, others := newJoin(f.DataSpeed), newJoin(f.LinkSpeed)
	for device, k := range class {
		s := rng.New(seed, rng.Spread, device, 0)
		z := s.Normal()
		if data != nil {
			z = own.of(data[device], z)
		}
		if machines.Speed != nil {
			machines.Speed[device] = speeds[k].At(z)
		}
		if links.Rate != nil {
			s := rng.New(seed, rng.Spread, device, 1)
			links.Rate[device] = rates[k].At(others.of(z, s.Normal()))
		}
	}
	return machines, links
}

// join correlates a normal score with another one.
type join struct{ r, rest float64 }

// newJoin returns the join for a rank correlation.
func newJoin(rho float64) join {
	r := 2 * elementary.Sin(math.Pi/6*rho)
	return join{r, math.Sqrt(max(0, 1-float64(r*r)))}
}

// of returns a score correlated with other, given an independent score.
func (j join) of(other, own float64) float64 {
	if j.r == 0 {
		return own
	}
	return float64(j.r*other) + float64(j.rest*own)
}

// scores returns the normal scores of numbers of rows. Equal ones are ranked at random
// by (seed, rng.Class, device, 1).
func scores(rows []int32, seed uint64) []float64 {
	type row struct {
		n      int32
		device int32
		chance uint64
	}
	sorted := make([]row, len(rows))
	for d, n := range rows {
		s := rng.New(seed, rng.Class, d, 1)
		sorted[d] = row{n, int32(d), s.Uint64()}
	}
	slices.SortFunc(sorted, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.chance, b.chance), cmp.Compare(a.device, b.device))
	})
	out := make([]float64, len(rows))
	for i, r := range sorted {
		p := (float64(i) + 0.5) / float64(len(rows))
		out[r.device] = math.Sqrt2 * elementary.Erfinv(2*p-1)
	}
	return out
}
