package into

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/results/rundir"
)

var (
	// ErrOther is wrapped by the error of Resume for a directory with another scenario.
	ErrOther = errors.New("the run in this directory has other settings")

	// ErrDriven is wrapped by the error of Resume for a run that needs its program.
	ErrDriven = errors.New("another program drives this run")
)

// Create creates the run directory of a scenario. See [rundir.Create] for directories that it
// refuses.
func Create(s *scenario.Scenario, o Options) (*Directory, error) {
	o.complete()
	if err := o.Permit(s); err != nil {
		return nil, err
	}
	about, err := About(s, o)
	if err != nil {
		return nil, err
	}
	w, err := rundir.Create(o.DirOf(s), o.Force, about)
	if err != nil {
		return nil, err
	}
	return &Directory{Scenario: s, Writer: w, options: o}, nil
}

// Resume resumes the unfinished run in the directory o.Dir. The scenario must be that of the
// run; nil: it is read from there. If a scenario is given and there is no checkpoint, the run
// starts. The error wraps [rundir.ErrComplete] if the run is complete.
func Resume(s *scenario.Scenario, o Options) (*Directory, error) {
	o.complete()
	left, err := rundir.OpenCheckpoint(o.Dir)
	switch {
	case err == nil:
		return o.resume(left, s)
	case s == nil:
		return nil, err
	case errors.Is(err, rundir.ErrComplete):
		there, failed := rundir.Read(o.Dir)
		if failed != nil {
			return nil, failed
		}
		return nil, cmp.Or(o.requireSame(s, there.Scenario), err)
	case errors.Is(err, rundir.ErrForeign):
		d, err := Create(s, o)
		if err == nil {
			o.begins()
		}
		return d, err
	default:
		return nil, err
	}
}

// resume resumes a checkpoint, of the scenario unless that is nil.
func (o *Options) resume(left *rundir.Checkpoint, s *scenario.Scenario) (d *Directory, err error) {
	defer func() { err = errors.Join(err, left.Close()) }()
	if s != nil {
		if err := o.requireSame(s, left.Scenario); err != nil {
			return nil, err
		}
	}
	// The file does not exist before the run is complete; errors name it anyway.
	if s, err = scenario.ParseRecorded(o.Dir, left.Scenario); err != nil {
		return nil, err
	}
	if len(o.Over) > 0 {
		if !s.Settings.Run.Seeds.UntilCertain() {
			return nil, config.Problem{Key: "run.seeds", Value: s.Settings.Run.Seeds,
				Want: "must be \"until-certain\": the run in " + o.Dir + " has a list"}
		}
		if s, err = scenario.Parse(filepath.Join(o.Dir, "scenario.toml"), left.Scenario, o.Over); err != nil {
			return nil, err
		}
		if left.Scenario, err = s.Resolved(); err != nil {
			return nil, err
		}
	}
	if o.Program == nil && left.Program != nil {
		return nil,
			fmt.Errorf("--resume %s: %w: start %s again and let it start fedsim engine with --resume %[1]s", o.Dir,
				ErrDriven, left.Program.Name)
	}
	if err := o.Permit(s); err != nil {
		return nil, err
	}
	about, err := About(s, *o)
	if err != nil {
		return nil, err
	}
	about.Command, about.Started = left.Command, left.Started
	if left.Empty() {
		o.begins()
	}
	if left.Cut > 0 {
		o.Note(fmt.Sprintf("%s: its log ends within a block, as after a kill: its last %s are computed again", o.Dir,
			columns.Count(int(left.Cut), "byte")))
	}
	w, err := left.Resume(about, experiment.Places(s.Experiments))
	if err != nil {
		return nil, err
	}
	return &Directory{Scenario: s, Writer: w, options: *o}, nil
}

// begins notes that the run starts from the beginning.
func (o *Options) begins() {
	o.Note(o.Dir + ": no checkpoint yet: the run starts from the beginning")
}

// requireSame returns an error unless the scenario is that of the run directory.
func (o *Options) requireSame(s *scenario.Scenario, there []byte) error {
	resolved, err := s.Resolved()
	if err == nil && !bytes.Equal(resolved, there) {
		// An earlier version recorded it without the keys that this version has in addition.
		if then, wrong := scenario.Parse(filepath.Join(o.Dir, "scenario.toml"), there, nil); wrong == nil {
			there, err = then.Resolved()
		}
	}
	if err == nil && !bytes.Equal(resolved, there) {
		err =
			fmt.Errorf(
				"--resume %s: %w than SCENARIO %s: omit SCENARIO to resume it, or choose another directory with --out",
				o.Dir, ErrOther, s.Name)
	}
	return err
}
