package results

import "fedsim/internal/tools/state"

// Recorder records the runs of a scenario: [Rows] for each. Trials of tuning are not recorded.
// Calls may overlap.
type Recorder interface {
	// Begin begins the record of the run at a place of the scenario. Its ID, Experiment, Method,
	// Algorithm, Point, Tuned, Seed, Real, Relative and Objective are set, and the Metrics that
	// are declared. A resumed run begins again, with its first round. Begin of a run that has
	// begun and has not ended returns its rows: its rounds come again, with metrics that were
	// declared late, and its values by client and rows by device continue.
	Begin(index int, run Run) (Rows, error)
	// Done reports whether the run with an ID was recorded before an interruption: it is not
	// made again.
	Done(id string) bool
}

// Rows records one run: its rounds, and what belongs to them. Calls do not overlap. A run that
// fails has no End.
type Rows interface {
	// Round records a round, with its thetas and its values by client. Rounds that are replayed
	// from a checkpoint have no values by client: State has set where those continue.
	Round(*Round) error
	// Devices records the rows by device of a round. Those of rounds before the state that was read
	// are there.
	Devices([]DeviceRow) error
	// Model records the final model of a run with run.save_model before its End: a vector of weights
	// for each task.
	Model(tasks, features int, weights func(task int) []float64) error
	// State codes how far the rows by device and by client are, for a checkpoint of the run. Reading
	// precedes the first round.
	State(*Coder)
	// End completes the record of a run that is finished or interrupted.
	End(Run) error
}

// Coder writes state to a checkpoint, or reads it back into place.
type Coder = state.Coder
