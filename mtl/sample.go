package mtl

import (
	"fedsim/data"
	"fedsim/internal/tools/rng"
)

// Sample is a subset of the tasks on which models are evaluated.
type Sample struct {
	of      *Problem
	devices []int32 // the devices of the sample's tasks, in order
	tests   []int32 // the sample's elements of the test set and of the validation set, in order
	tasks   int     // the number of the sample's tasks
	// by device of the sample: the index of its task in the sample; nil when each device has its own task
	ranks  []int32
	weight float64 // m/n for n of m tasks
}

// NewSample draws n tasks uniformly without replacement from (seed, rng.Sample, -1, 0). n = 0
// takes all tasks.
func (p *Problem) NewSample(n int, seed uint64) *Sample {
	if n == 0 {
		n = p.tasks
	}
	tasks := make([]int32, p.tasks)
	for t := range tasks {
		tasks[t] = int32(t)
	}
	stream := rng.New(seed, rng.Sample, -1, 0)
	stream.Draw(tasks, 0, n)
	drawn := make([]bool, len(tasks))
	for _, t := range tasks[:n] {
		drawn[t] = true
	}
	return p.sampleOf(drawn)
}

// sampleOf returns the sample of the marked tasks.
func (p *Problem) sampleOf(drawn []bool) *Sample {
	s := &Sample{of: p}
	rank := make([]int32, len(drawn))
	for t, is := range drawn {
		rank[t] = int32(s.tasks)
		if is {
			s.tasks++
		}
	}
	for k := range p.Train.Clients {
		if t := p.TaskOf(k); drawn[t] {
			s.devices = append(s.devices, int32(k))
			if p.sharing != nil {
				s.ranks = append(s.ranks, rank[t])
			}
		}
	}
	for t := range p.Test.Clients {
		if drawn[p.Test.TaskOf(t)] {
			s.tests = append(s.tests, int32(t))
		}
	}
	s.weight = float64(len(drawn)) / float64(s.tasks)
	return s
}

func (s *Sample) all() bool { return s.tasks == s.of.tasks }

// taskOf returns the index, in the sample, of the task of device i of the sample.
func (s *Sample) taskOf(i int) int {
	if s.ranks == nil {
		return i
	}
	return int(s.ranks[i])
}

// each visits the rows of the sample in parallel, each element of the training set (part 0), of
// the test set (1) and of the validation set (2) with the model of its task. i is the index of
// the element in the sample.
func (s *Sample) each(pool *Pool, w *data.Matrix, visit func(part, i, worker int, task *data.Client, w []float64)) {
	parts := s.of.Parts()
	devices, tests := len(s.devices), len(s.tests)
	pool.For(devices+(len(parts)-1)*tests, func(i, worker int) {
		part, elements := 0, s.devices
		if i >= devices {
			part, elements, i = 1+(i-devices)/tests, s.tests, (i-devices)%tests
		}
		set, k := parts[part], int(elements[i])
		task := set.Open(k)
		defer task.Close()
		visit(part, i, worker, task.Client, ModelRow(w, set.TaskOf(k)))
	})
}

// fits returns the fits of the elements of the sample, by part. duals are the dual variables by
// device, or nil.
func (s *Sample) fits(pool *Pool, w *data.Matrix, duals [][]float64) [3][]fit {
	p := s.of
	fits := [3][]fit{make([]fit, len(s.devices)), make([]fit, len(s.tests))}
	if p.Validation != nil {
		fits[2] = make([]fit, len(s.tests))
	}
	if p.program != nil {
		p.program.measureAll(s, pool, w, fits)
		return fits
	}
	s.each(pool, w, func(part, i, _ int, task *data.Client, w []float64) {
		var a []float64
		if duals != nil && part == 0 {
			a = duals[s.devices[i]]
		}
		fits[part][i] = p.fit(task, w, a)
	})
	return fits
}
