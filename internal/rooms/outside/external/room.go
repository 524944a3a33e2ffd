package external

import (
	"context"
	"io"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/results"
)

func init() {
	rooms.Register(rooms.Room{
		Name: "external", Place: 5,
		Programs: func(ctx context.Context, stderr io.Writer) rooms.Programs { return NewLearners(ctx, stderr) },
	})
}

var (
	_ rooms.Programs     = (*Learners)(nil)
	_ algorithms.Outside = (*Options)(nil)
)

// Learner starts a run of a method whose options are *Options.
func (l *Learners) Learner(run rooms.LearnerRun, s algorithms.Setup, o algorithms.Outside) (rooms.Learner, error) {
	learner, err := l.Start(run, s, o.(*Options))
	if err != nil {
		return nil, err
	}
	return learner, nil
}

// Model starts the program of a model.
func (l *Learners) Model(o rooms.ModelOptions, split *data.Split) (rooms.Model, error) {
	return shown(l.StartModel(o, split))
}

// TimedModel starts the program of a model to ask it for its sizes alone.
func (l *Learners) TimedModel(o rooms.ModelOptions, told *rooms.Told) (rooms.Model, error) {
	return shown(l.StartTimed(o, told))
}

// shown returns no model beside an error.
func shown(m *Model, err error) (rooms.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// About returns the fingerprint of the model and its shapes.
func (m *Model) About() *results.ExternalModel {
	about := &results.ExternalModel{Program: m.Fingerprint()}
	for _, s := range m.about.shapes {
		about.Shapes = append(about.Shapes, results.Shape(s))
	}
	return about
}

// Metered returns the model for a run whose time is added up.
func (m *Model) Metered() rooms.Metered { return &Metered{Model: m} }

// SetProgram sets the keys of the method's table.
func (o *Options) SetProgram(command []string, timeoutS float64, processes int) {
	o.Command, o.TimeoutS, o.Processes = command, timeoutS, processes
}

// Program returns the program and its arguments.
func (o *Options) Program() []string { return o.Command }
