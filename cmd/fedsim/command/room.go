package command

import (
	"fmt"

	"fedsim/experiment"
	"fedsim/scenarios"
)

// requireRoom refuses a scenario that takes more memory than there is, however
// little it takes besides: the system would kill it, with others, after a while.
func requireRoom(s *scenarios.Scenario) error {
	need, there := experiment.LeastMemory(s.Experiments), memoryOfMachine()
	if there == 0 || need <= there {
		return nil
	}
	return usagef("scenario %s takes at least %s of memory, and there are %s: let it have fewer tasks, rows or features, or make rows anew by data.resident = false; regularizer \"graphical\" takes 24 bytes for each pair of tasks",
		s.Name, humanBytes(need), humanBytes(there))
}

// humanBytes returns an amount of memory with two digits or more.
func humanBytes(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	k := 0
	for ; bytes >= 1000 && k < len(units)-1; k++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%.3g %s", bytes, units[k])
}
