package results

import "fmt"

// Vary is what the seeds of repeated runs vary.
type Vary string

const (
	VarySystem Vary = "system" // what devices, links, faults and methods draw; the data are the same
	VarySplit  Vary = "split"  // how the rows are split; the system is the same
	VaryAll    Vary = "all"    // both, and generated data
)

// Repetitions describes n repeated runs: "3 seeds", "3 splits of the data".
func (v Vary) Repetitions(n int) string {
	switch v {
	case VarySplit:
		return fmt.Sprintf("%d splits of the data", n)
	case VaryAll:
		return fmt.Sprintf("%d seeds of system and data", n)
	default:
		return fmt.Sprintf("%d seeds", n)
	}
}
