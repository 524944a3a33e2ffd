package command

import (
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/results"
)

// requireMemory rejects a scenario whose minimum memory exceeds that of the machine.
// The system would kill the process, and perhaps others.
func requireMemory(s *scenario.Scenario) error {
	need, there := experiment.LeastMemory(s.Experiments), machineMemory()
	if there == 0 || need <= there {
		return nil
	}
	return usagef("scenario %s needs at least %s of memory, but the machine has %s: reduce tasks, rows or features, "+
		"or set data.resident = false; regularizer \"graphical\" takes 24 bytes for each pair of tasks",
		s.Name, results.Scaled(need, "B"), results.Scaled(there, "B"))
}
