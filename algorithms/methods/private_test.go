package methods

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/rooms/privacy"
	"fedsim/internal/tools/expect"
)

// In every method that is Private, a guard without limits changes no bit, and each part of it
// changes the model: the clipping and noise of devices, the rounding, the denominator and the
// noise of the server.
func TestPrivateMethodsAreGuarded(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	private := 0
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		if !f.Describe(f.Options(), p.Shape).Messages.Private {
			continue
		}
		private++
		o := f.Options()
		smaller(o)
		average := o.(interface{ Averaged() *kit.AverageOptions }).Averaged()
		average.Weights = kit.Equally
		if o, ok := o.(*pFedMeOptions); ok { // its average is a copy
			o.Weights = kit.Equally
		}
		expect.That(t, !f.Describe(o, p.Shape).Messages.Unequal, "%s: weights are not equal", name)
		model := func(cohort int, change func(*privacy.Config)) shown {
			setup := algorithms.Setup{Problem: p, Coupling: c, Workers: testPool.Size()}
			if change != nil {
				table := privacy.Defaults()
				table.Mechanism, table.Noise, table.Clip = privacy.Central, 0, 0
				change(&table)
				setup.Guard = table.NewGuard(cohort, 0)
			}
			a := expect.Value(f.New(setup, o))(t)
			for h := range 3 {
				round(a, p, h, algorithms.NoLimit, nil)
			}
			return snapshot(a)
		}
		n := p.Clients()
		plain := model(n, nil)
		if err := same(model(n, func(*privacy.Config) {}), plain); err != nil {
			t.Errorf("%s: without limits: %v", name, err)
		}
		for what, other := range map[string]shown{
			"clip":        model(n, func(q *privacy.Config) { q.Clip = 1e-3 }),
			"denominator": model(n+1, func(*privacy.Config) {}),
			"server":      model(n, func(q *privacy.Config) { q.Clip, q.Noise = 100, 1e-4 }),
			"devices": model(n,
				func(q *privacy.Config) { q.Clip, q.Noise, q.Mechanism = 100, 1e-4, privacy.Distributed }),
			"rounding": model(n,
				func(q *privacy.Config) { q.Mechanism, q.SecureAggregation = privacy.None, privacy.SecAgg }),
		} {
			expect.That(t, same(other, plain) != nil, "%s: %s has no effect", name, what)
		}
	}
	expect.That(t, private >= 6, "%d private methods", private)
}
