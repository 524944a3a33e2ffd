package command

import (
	"fmt"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
)

// requireMemory rejects a scenario whose minimum memory exceeds that of the machine.
// The system would kill the process, and perhaps others.
func requireMemory(s *scenario.Scenario) error {
	need, there := experiment.LeastMemory(s.Experiments), machineMemory()
	if there == 0 || need <= there {
		return nil
	}
	return usagef("scenario %s needs at least %s of memory, but the machine has %s: reduce tasks, rows or features, or set data.resident = false; regularizer \"graphical\" takes 24 bytes for each pair of tasks",
		s.Name, humanBytes(need), humanBytes(there))
}

// humanBytes formats an amount of memory.
func humanBytes(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	k := 0
	for ; bytes >= 1000 && k < len(units)-1; k++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%.3g %s", bytes, units[k])
}
