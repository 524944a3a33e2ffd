package results

import "fmt"

// Vary names the random draws that differ between the seeds of repeated runs.
type Vary string

const (
	VarySystem Vary = "system" // draws of devices, links, faults and methods; the data are the same
	VarySplit  Vary = "split"  // the split into training and test rows; the system is the same
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
