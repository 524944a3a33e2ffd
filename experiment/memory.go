package experiment

import (
	"fmt"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/mtl"
)

// LeastMemory returns a lower bound on the bytes of the largest run: its data, if they
// are generated, and the state of the method.
func LeastMemory(experiments []scenario.Experiment) float64 {
	most := 0.0
	for i := range experiments {
		for j := range experiments[i].Jobs {
			for k := range experiments[i].Jobs[j].Candidates {
				most = max(most, leastMemory(&experiments[i].Jobs[j].Candidates[k]))
			}
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
	if s.Data.Pool {
		tasks = 1
	}
	about := run.Describe(s.SyntheticShape())
	tasks = about.Model.Count(tasks)
	return least + s.Problem.MinMemory(tasks, s.SyntheticShape().Values(), s.Run.Outer)
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
	if problem.Config.Model == mtl.ModelExternal {
		return fmt.Errorf("model of problem.command: %d models of %d values take at least %.3g GB, and the machine has %.3g GB", tasks, values, need/gigabyte, p.memory/gigabyte)
	}
	return config.Problem{Key: "data.path", Value: problem.Train.Name, Want: fmt.Sprintf(
		"must have fewer features or tasks: %d models of %d values take at least %.3g GB, and the machine has %.3g GB", tasks, values, need/gigabyte, p.memory/gigabyte)}
}
