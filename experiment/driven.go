package experiment

import (
	"context"
	"math"

	"fedsim/experiment/scenario"
	"fedsim/federation/session"
	"fedsim/results"
)

// Driven returns the setup of a run that another program drives, without a method, and
// what results say of the run. It reads the sizes of the data only: nothing is generated
// and no optimum is computed.
func Driven(ctx context.Context, run *scenario.RunSpec) (*session.Setup, results.Run, error) {
	about := resultOf(run)
	about.Optimum, about.OptimumGap = math.NaN(), math.NaN()
	p := &preparer{Preparation: &Preparation{}, ctx: ctx}
	sized, err := p.sizesOf(&run.Settings)
	if err != nil {
		return nil, about, err
	}
	setup, err := p.server(run, sized)
	if err != nil {
		return nil, about, err
	}
	return &session.Setup{
		Setup: setup.Setup, PassFLOPs: float64(setup.MinRows()) * setup.Shape.StepFLOPs(), Values: setup.Shape.Values(),
	}, about, nil
}
