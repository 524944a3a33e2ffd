package mtl

import (
	"math"
	stdreflect "reflect"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
)

// The mean over all samples of one task equals the value of all tasks, and so does a sample
// of all tasks.
func TestSampleIsUnbiased(t *testing.T) {
	for _, owner := range [][]int{nil, {0, 1, 0, 2, 1, 2}} {
		p := sampled(t, owner)
		pool := parallel.NewPool(2)
		c := expect.Value(p.Regularizer.Start(nil, p.Tasks()))(t)
		o := p.Solver(pool, 1e-2, 50).Optimize(t.Context(), c, nil)
		whole := p.Evaluate(pool, c, &o.W, &o.Duals.V, o.Duals.Alpha)
		all := p.NewSample(p.Tasks(), 1).Evaluate(pool, c, &o.W, &o.Duals.V, &o.Duals.V, o.Duals.Alpha)
		expect.That(t, stdreflect.DeepEqual(all, whole), "a sample of all tasks gives %+v, all tasks %+v", all, whole)
		var mean Objective
		m := float64(p.Tasks())
		for task := range p.Tasks() {
			drawn := make([]bool, p.Tasks())
			drawn[task] = true
			s := p.sampleOf(drawn)
			x := s.Evaluate(pool, c, &o.W, &o.Duals.V, &o.Duals.V, o.Duals.Alpha)
			mean.Primal += x.Primal / m
			mean.Dual += x.Dual / m
			mean.TrainErrorClients += x.TrainErrorClients / m
			mean.TestErrorClients += x.TestErrorClients / m
			mean.ValidationErrorClients += x.ValidationErrorClients / m
		}
		for _, f := range []struct {
			name      string
			got, want float64
		}{
			{"P", mean.Primal, whole.Primal}, {"D", mean.Dual, whole.Dual},
			{"training error", mean.TrainErrorClients, whole.TrainErrorClients},
			{"test error", mean.TestErrorClients, whole.TestErrorClients},
			{"validation error", mean.ValidationErrorClients, whole.ValidationErrorClients},
		} {
			expect.That(t, math.Abs(f.got-f.want) <= 1e-12*math.Max(1, math.Abs(f.want)),
				"%s: samples of one task have the mean %v, all tasks %v", f.name, f.got, f.want)
		}
	}
}

func TestSampleHasAllDevicesOfItsTasks(t *testing.T) {
	p := sampled(t, []int{0, 1, 0, 2, 1, 2})
	counts := make([]int, p.Tasks())
	for seed := range uint64(200) {
		s := p.NewSample(2, seed)
		expect.Must(t, len(s.devices) == 4 && len(s.tests) == 2 && s.weight == 1.5,
			"devices %v, tests %v of weight %g: want four of two tasks, each for 1.5", s.devices, s.tests, s.weight)
		for _, k := range s.devices {
			task := int32(p.TaskOf(int(k)))
			expect.That(t, task == s.tests[0] || task == s.tests[1],
				"device %d is of task %d, which is not in the sample %v", k, task, s.tests)
		}
		for _, task := range s.tests {
			counts[task]++
		}
	}
	for task, n := range counts { // 200 x 2/3 with a standard deviation of 6.7
		expect.That(t, n >= 100 && n <= 167, "task %d is in %d of 200 samples of 2 of 3", task, n)
	}
}

// sampled returns a problem of six devices, each with its own task or the
// given one.
func sampled(t *testing.T, owner []int) *Problem {
	t.Helper()
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 6, 8
	cfg.Validation = 0.25
	cfg.Synthetic.Clusters = 2
	cfg.Synthetic.Factors = 4
	split := expect.Value(data.Prepare(cfg))(t)
	if owner != nil {
		split.Train.Owner = owner
		split.Test.Clients, split.Validation.Clients = split.Test.Clients[:3], split.Validation.Clients[:3]
	}
	problem := Defaults()
	problem.Lambda = 0.1
	p := expect.Value(NewProblem(problem, *split))(t)
	return p
}
