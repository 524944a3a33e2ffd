package experiment

import (
	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms"
)

// isExternal reports whether the learner of a run is in another process.
func isExternal(run *scenario.RunSpec) bool {
	_, outside := run.Options.(algorithms.Outside)
	return outside
}

// external returns a method whose learner is in another process, and a function that ends the run in that
// process. A resumed run constructs its method twice; the second takes the place of the first.
func (r *runner) external(
	f algorithms.Factory, run *scenario.RunSpec, p *prepared, name string, o algorithms.Outside,
) (in algorithms.Factory, end func() error) {
	var now rooms.Learner
	end = func() error {
		if now == nil {
			return nil
		}
		return now.Close()
	}
	about := rooms.LearnerRun{ID: run.ID, Seed: run.System, Real: run.Settings.Data.Target == data.TargetReal,
		Model: p.served.program}
	if store := r.options.Checkpoints.Store; store != nil {
		about.File = func(k int) string { return store.Path(name, k) }
	}
	f.New = func(s algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
		if err := end(); err != nil {
			return nil, err
		}
		var err error
		if now, err = r.programs.Learner(about, s, o); err != nil {
			return nil, err
		}
		return now, nil
	}
	return f, end
}
