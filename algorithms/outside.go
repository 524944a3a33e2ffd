package algorithms

import "fedsim/config"

// Outside are the options of a method whose learner is another program, which the table program of the method starts.
// They are any table of values: the learner knows them.
type Outside interface {
	Options
	// SetProgram sets the program with its arguments, the most seconds of real time for an answer (0: no limit), and
	// the processes for all runs (0: one for each run under way).
	SetProgram(command []string, timeoutS float64, processes int)
	Program() []string                 // the program and its arguments
	ValidateProgram(c *config.Checker) // reports everything wrong with the table that SetProgram has set
}
