package rooms

import (
	"context"
	"io"
	"slices"
	"time"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// Programs are the other processes of an experiment: learners and external models. Its Close ends all of them.
type Programs interface {
	// Learner starts a run of a method whose options are of the room. The caller closes it.
	Learner(run LearnerRun, s algorithms.Setup, o algorithms.Outside) (Learner, error)
	// Model starts the program of a model on the rows of a split; nil: the program has rows of its own.
	Model(o ModelOptions, split *data.Split) (Model, error)
	// TimedModel starts the program of a model to ask it for its sizes alone. told is nil where it has rows of its own.
	TimedModel(o ModelOptions, told *Told) (Model, error)

	// Remind names programs that do not answer, on their standard error. Call it before the first start, or
	// before Close.
	Remind(clock func() time.Time, r Reminders)
	Pending() string // what a request waits for; empty: there is none
	Close() error
}

// Reminders are when a program that does not answer is named: After a time, and then Every so often.
type Reminders struct{ After, Every time.Duration }

// LearnerRun describes a run to a learner.
type LearnerRun struct {
	ID   string
	Seed uint64
	Real bool // targets are real: an error is no share
	// Model is the external model of the problem; nil: it is another.
	Model Model
	// File returns the path of a file in which the learner may keep its state, under one
	// of two names, 0 and 1; nil: there are no checkpoints.
	File func(name int) string
}

// Learner is a run in a learner.
type Learner interface {
	algorithms.Algorithm
	Close() error
}

// ModelOptions describe the program of an external model.
type ModelOptions struct {
	Command   []string // the program and its arguments
	TimeoutS  float64  // most seconds of real time for an answer; 0: no limit
	Processes int      // most processes, at least 1
	Memory    float64  // of the machine, in bytes; 0: not known
	Real      bool     // targets are real: errors are sums of squares
}

// Told is what a program is told of rows of fedsim: how many clients have some, their features and outputs,
// and whether targets are real.
type Told struct {
	Clients  int  `json:"clients,omitzero"`
	Features int  `json:"features,omitzero"`
	Outputs  int  `json:"outputs,omitzero"`
	Real     bool `json:"real,omitzero"`
}

// Model is an external model.
type Model interface {
	mtl.Program
	// Rows returns the rows of the elements of a part of the data, as data.Split.Parts has them; nil: there is
	// no such part.
	Rows(part int) []int32
	About() *results.ExternalModel
	Metered() Metered // the same model, for a run whose time is added up
}

// Metered is a model that adds up for how long its program was asked.
type Metered interface {
	mtl.Program
	// Take returns the seconds of evaluations and of gradients since the last call, summed over the processes.
	Take() (evaluations, gradients float64)
}

// HavePrograms reports whether a room has programs.
func HavePrograms() bool {
	return slices.ContainsFunc(all, func(r *Room) bool { return r.Programs != nil })
}

// StartPrograms returns the programs of an experiment, none at first; nil: no room has any. Their standard error
// goes to stderr, line by line; nil: nowhere. The end of ctx ends requests.
func StartPrograms(ctx context.Context, stderr io.Writer) Programs {
	for _, r := range all {
		if r.Programs != nil {
			return r.Programs(ctx, stderr)
		}
	}
	return nil
}
