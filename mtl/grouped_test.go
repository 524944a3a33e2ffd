package mtl

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// Random clusters, compared with a full matrix by the definition of Omega,
// M = 1/2 (l1 Omega + l2 I)^-1 with Omega = (I - 11^T/n)^2 on a cluster.
func TestGroupedIsTheDenseCoupling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 30).Draw(t, "m")
		r := MeanRegularized{
			Lambda1: math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log l1")),
			Lambda2: math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log l2")),
		}
		size := map[int]int{0: m}
		of := make([]int, m)
		if rapid.Bool().Draw(t, "clusters") {
			r.Clusters = rapid.SliceOfN(rapid.IntRange(0, rapid.IntRange(0, m).Draw(t, "most")), m, m).
				Draw(t, "cluster")
			of = r.Clusters
			clear(size)
			for _, n := range of {
				size[n]++
			}
		}
		definition := symmetric(m, func(s, u int) float64 {
			x := 2 * r.Lambda2 * delta(s, u)
			if of[s] == of[u] {
				x += 2 * r.Lambda1 * (delta(s, u) - 1/float64(size[of[s]]))
			}
			return x
		})
		want, err := inverseCoupling(definition)
		expect.Must(t, err == nil, "%v", err)
		got, err := r.Start(testPool, m)
		expect.Must(t, err == nil, "%v", err)
		_, ok := got.(*grouped)
		expect.Must(t, ok, "the coupling is a %T", got)
		agree(t, fmt.Sprintf("clusters %v", r.Clusters), got, want, rapid.IntRange(1, 9).Draw(t, "d"), 1e-10)
	})
}

// Clusters larger than a piece: the product has the means of the clusters, the inverse
// inverts it, and sigma' is along/M_tt by every rule.
func TestGroupedOfManyTasks(t *testing.T) {
	const m, d = 3*longestPiece + 17, 3
	clusters := make([]int, m)
	for s := range clusters {
		clusters[s] = 9 * min(1, s%4) // a quarter and three quarters
	}
	r := MeanRegularized{Lambda1: 3, Lambda2: 0.2, Clusters: clusters}
	c := expect.Value(r.Start(testPool, m))(t)
	v := randomMatrix(1, m, d)
	size, mean := map[int]float64{}, map[int][]float64{0: make([]float64, d), 9: make([]float64, d)}
	for s, n := range clusters {
		size[n]++
		for j, x := range v.Row(s) {
			mean[n][j] += x
		}
	}
	apart, along := 1/(2*3.2), 1/(2*0.2)
	w, z := data.NewMatrix(m, d), data.NewMatrix(m, d)
	c.Primal(&w, &v)
	c.Gradient(&z, &w)
	for s, n := range clusters {
		for j, x := range v.Row(s) {
			center := mean[n][j] / size[n]
			want := apart*(x-center) + along*center
			expect.Must(t, near(w.Row(s)[j], want, 1e-12), "W[%d][%d] = %g, want %g", s, j, w.Row(s)[j], want)
			expect.Must(t, near(z.Row(s)[j], x, 1e-12), "(W M^-1)[%d][%d] = %g, want %g", s, j, z.Row(s)[j], x)
		}
	}
	a, b := c.Value(&w, nil), c.Value(&w, &v)
	expect.That(t, near(a, b, 1e-12), "R(W) = %.15g, with V %.15g", a, b)
	for _, rule := range []string{SigmaSpectral, SigmaLemma9, SigmaPerTask} {
		sigma := c.SigmaPrime(rule, nil)
		largest := along / (apart + (along-apart)/size[9])
		for s, n := range clusters {
			want := largest
			if rule == SigmaPerTask {
				want = along / (apart + (along-apart)/size[n])
			}
			expect.Must(t, near(sigma[s], want, 1e-11), "%s: sigma'_%d = %.15g, want %.15g", rule, s, sigma[s], want)
		}
	}
}
