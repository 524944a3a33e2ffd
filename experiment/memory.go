package experiment

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/mtl"
)

// LeastMemory returns a lower bound on the bytes of the largest run: its data, if they
// are generated, and the state of the method.
func LeastMemory(experiments []scenario.Experiment) float64 {
	most := 0.0
	for j := range scenario.Jobs(experiments) {
		for k := range j.Candidates {
			most = max(most, leastMemory(&j.Candidates[k]))
		}
	}
	return most
}

// timedDevice is the least bytes of a device in timing mode. A test of federation
// measures 166 and more.
const timedDevice = 160

// timedDevices returns the number of devices that have state in timing mode: all, or in a lazy
// population at most those that its rounds ask. Only the first round is certain.
func timedDevices(s *scenario.Settings, devices int) float64 {
	if !s.Federation.Lazy() {
		return float64(devices)
	}
	_, asked := s.Federation.Sizes(devices)
	return float64(asked)
}

func leastMemory(run *scenario.RunSpec) float64 {
	s := &run.Settings
	switch {
	case s.Data.Source == data.SourceExternal:
		return timedDevice * timedDevices(s, s.Data.External.Clients)
	case s.Data.Source != data.SourceSynthetic:
		return 0
	case s.Run.Mode == scenario.Timing, run.Algorithm == scenario.Driven:
		return timedDevice * timedDevices(s, s.Data.Resolve().Synthetic.Clients)
	}
	least, tasks := s.Data.LeastMemory(), s.Data.Resolve().Synthetic.Clients
	if s.Problem.Model == mtl.ModelExternal { // its program says how large it is
		return least
	}
	if s.Data.Pool {
		tasks = 1
	}
	about := run.Describe(s.SyntheticShape())
	tasks = about.Model.Count(tasks)
	return least + s.Problem.MinMemory(tasks, s.SyntheticShape().Values(), s.Run.Outer)
}

// footprint is the memory of a method under an external model, in bytes.
type footprint struct {
	models int     // in memory at once, as Config.MinMemory counts them
	kept   float64 // of vectors of clients: of those that have responded, and of those at work
	had    float64 // clients that have responded in the end, in the mean of uniform selection
}

// footprintOf returns the memory of the method of a run with so many clients and tasks.
func footprintOf(s *scenario.Settings, about *algorithms.Description, shape mtl.Shape,
	clients, tasks int) (o footprint) {
	o.models = about.Model.Count(tasks)
	if about.Model == algorithms.PersonalModels {
		o.models = 1 // they are made one by one
	}
	_, asked := s.Federation.Sizes(clients)
	never := 1.0
	for range s.Run.MostRounds() {
		if never *= 1 - float64(asked)/float64(clients); never < 1e-6 {
			break
		}
	}
	o.had = float64(clients) * (1 - never)
	up := float64(max(1, about.Work.Vectors))
	stay := float64(about.Work.Kept)
	if codes := s.Coding(); codes != nil && codes.FeedsBack {
		stay += up // residuals
	}
	size := float64(valueBytes)
	if shape.Given.Single {
		size = valueBytes / 2
	}
	o.kept = size * float64(shape.Values()) *
		(float64(stay*o.had) + float64((up+float64(about.Work.Working))*float64(asked)))
	return o
}

// fitsRun rejects a run that takes more memory than the machine has: with an external model, of the
// vectors of its clients, too.
func (p *preparer) fitsRun(run *scenario.RunSpec, problem *mtl.Problem) error {
	s := &run.Settings
	if s.Problem.Model != mtl.ModelExternal {
		about := run.Describe(mtl.Shape{})
		return p.fits(problem, about.Model.Count(problem.Tasks()), s.Run.Outer)
	}
	about, values := run.Describe(problem.Shape), problem.Values()
	o := footprintOf(s, &about, problem.Shape, problem.Clients(), problem.Tasks())
	need := o.kept + s.Problem.MinMemory(o.models, values, s.Run.Outer)
	if p.memory == 0 || need <= p.memory {
		return nil
	}
	return fmt.Errorf("model of problem.program.command: %s with %d values and vectors of %.0f clients takes about "+
		"%.3g GB, "+
		"and the machine has %.3g GB",
		about.Name, values, o.had, need/1e9, p.memory/1e9)
}

// fits rejects models that take more memory than the machine has. The number of features of
// a file is known only after it is read.
func (p *preparer) fits(problem *mtl.Problem, tasks, outer int) error {
	values := problem.Values()
	need := problem.Config.MinMemory(tasks, values, outer)
	if p.memory == 0 || need <= p.memory {
		return nil
	}
	const gigabyte = 1e9
	return config.Problem{Key: "data.path", Value: problem.Train.Name, Want: fmt.Sprintf(
		"must have fewer features or tasks: %d models of %d values take at least %.3g GB, and the machine has %.3g GB",
		tasks, values, need/gigabyte, p.memory/gigabyte)}
}
