package methods

import (
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/algorithms/privacy"
	"fedsim/config"
)

// In every method that is Private, a guard without limits changes no bit, and each part of it
// changes the model: the clipping and noise of devices, the rounding, the denominator and the
// noise of the server. Others refuse it.
func TestPrivateMethodsAreGuarded(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	private := 0
	for _, name := range learningMethods() {
		f, _ := algorithms.Lookup(name)
		table := privacy.Defaults()
		table.Mechanism = privacy.Central
		check := config.NewChecker()
		about := f.Describe(f.Options(), p.Shape)
		if about.CheckPrivacy(check, &table); about.Messages.Private && !about.Messages.Unequal {
			if len(check.Problems()) > 0 {
				t.Errorf("%s: %v", name, check.Problems())
			}
		} else if len(check.Problems()) != 1 {
			t.Errorf("%s: %v: weights are by rows by default, or the method is not private", name, check.Problems())
		} else if want := check.Problems()[0].Want; strings.Contains(want, "options.weights") != about.Messages.Private {
			t.Errorf("%s: %s", name, want)
		}
		if !about.Messages.Private {
			continue
		}
		private++
		o := f.Options()
		smaller(o)
		average := o.(interface{ Averaged() *kit.AverageOptions }).Averaged()
		average.Weights = kit.Equally
		check = config.NewChecker()
		about = f.Describe(o, p.Shape)
		if about.CheckPrivacy(check, &table); len(check.Problems()) > 0 {
			t.Errorf("%s: %v", name, check.Problems())
		}
		model := func(cohort int, change func(*privacy.Config)) shown {
			table := privacy.Defaults()
			if change != nil {
				table.Mechanism, table.Noise, table.Clip = privacy.Central, 0, 0
				change(&table)
			}
			a, err := f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: testPool.Size(), Privacy: &table, Cohort: cohort}, o)
			if err != nil {
				t.Fatal(err)
			}
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
			"devices":     model(n, func(q *privacy.Config) { q.Clip, q.Noise, q.Mechanism = 100, 1e-4, privacy.Distributed }),
			"rounding":    model(n, func(q *privacy.Config) { q.Mechanism, q.SecureAggregation = privacy.None, privacy.SecAgg }),
		} {
			if same(other, plain) == nil {
				t.Errorf("%s: %s has no effect", name, what)
			}
		}
	}
	if private < 6 {
		t.Errorf("%d private methods", private)
	}
}
