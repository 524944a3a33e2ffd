package experiment

import (
	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/outside/external"
)

// isExternal reports whether the learner of a run is in another process.
func isExternal(run *scenario.RunSpec) bool {
	_, ok := external.Of(run.Options)
	return ok
}

// external returns the constructor of a run whose learner is in another process, and a
// function that ends the run in its process. A resumed run constructs its method twice; the
// second takes the place of the first.
func (r *runner) external(run *scenario.RunSpec, p *prepared, name string, o *external.Options) (start func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error), end func() error) {
	var now *external.Learner
	end = func() error {
		if now == nil {
			return nil
		}
		return now.Close()
	}
	about := external.RunInfo{ID: run.ID, Seed: run.System, Real: run.Settings.Data.Target == data.TargetReal}
	if p.digest != nil {
		about.Data = p.digest()
	}
	if store := r.options.Checkpoints.Store; store != nil {
		about.File = func(k int) string { return store.Path(name, k) }
	}
	start = func(s algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
		if err := end(); err != nil {
			return nil, err
		}
		var err error
		if now, err = r.learners.Start(about, s, o); err != nil {
			return nil, err
		}
		return now, nil
	}
	return start, end
}
