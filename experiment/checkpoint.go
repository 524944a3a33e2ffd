package experiment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/checkpoint"
	"fedsim/internal/state"
	"fedsim/results"
)

// saver returns the saver of a checkpoint with a name; nil: no checkpoints are saved.
func (r *runner) saver(name string) *checkpoint.Saver {
	return r.options.Checkpoints.Saver(r.ctx, name)
}

// runCheckpoint saves a run at the ends of its rounds. It is for runs that compute: a
// run in timing mode is repeated instead.
type runCheckpoint struct {
	*checkpoint.Saver
	rows  results.Rows // nil: the run is not recorded
	saved int          // rounds at the last save
	now   int          // rounds so far
}

// checkpointRun makes a run save checkpoints under a name, and resume from the one
// under that name. A method without state starts again.
func (r *runner) checkpointRun(name string, setup *federation.Setup) (*runCheckpoint, error) {
	saver := r.saver(name)
	if saver == nil {
		return nil, nil
	}
	s := &runCheckpoint{Saver: saver}
	setup.Checkpoint = func(f *federation.Federation) error {
		s.now++
		if !f.Stateful() || !s.Due() {
			return nil
		}
		s.saved = s.now
		return s.save(f)
	}
	var err error
	setup.Resume, err = saver.Restore()
	return s, err
}

// explain returns the error of a resumed run, and rejects the checkpoint if that is its
// cause.
func (s *runCheckpoint) explain(setup *federation.Setup, err error) error {
	if s == nil || setup.Resume == nil || setup.Resume.Err() == nil && !errors.Is(err, federation.ErrMismatch) {
		return err
	}
	return s.Reject(err)
}

// saveLast saves a run that was interrupted after a round without a checkpoint.
func (s *runCheckpoint) saveLast(f *federation.Federation) error {
	if s == nil || !f.Stateful() || s.now == s.saved {
		return nil
	}
	return s.save(f)
}

// save saves a run, and how far its record is.
func (s *runCheckpoint) save(f *federation.Federation) error {
	return s.Save(func(c *state.Coder) {
		if f.Save(c); s.rows != nil && c.Err() == nil {
			s.rows.State(c)
		}
	})
}

// resume makes checkpoints hold how far the record is, and continues that of the checkpoint
// that the run is resumed from.
func (s *runCheckpoint) resume(setup *federation.Setup, rows results.Rows) error {
	if s == nil || rows == nil {
		return nil
	}
	if s.rows = rows; setup.Resume == nil {
		return nil
	}
	rows.State(setup.Resume)
	return setup.Resume.Err()
}

// tuningSavers save the tuning of a job: its trials so far, and all of them when it has ended.
// One goroutine uses them at a time.
type tuningSavers struct {
	part   *checkpoint.Saver // nil: no checkpoints
	whole  *checkpoint.Saver // nil: the tuning is not shared
	made   bool              // whole was there
	source *checkpoint.Saver // of the restored trials
}

// restoreTuning restores the trials of a job, all or those from before an interruption.
func (r *runner) restoreTuning(j *job) error {
	s := &j.savers
	*s = tuningSavers{part: r.saver("trials of " + j.Key())}
	if whole, shared := r.stateSaver(tuningName(j.Job)); shared {
		s.whole = whole
	}
	for _, s.source = range []*checkpoint.Saver{s.whole, s.part} {
		c, err := s.source.Restore()
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if j.state(c); c.Err() != nil {
			return s.source.Reject(c.Err())
		}
		s.made = s.source == s.whole
		return nil
	}
	return nil
}

// tuningName is the name of the state of a job whose tuning has ended.
func tuningName(j *scenario.Job) string { return "tuning " + j.Key() }

// add appends the result of the next candidate, and saves all so far if it is time.
func (j *job) add(x Trial) error {
	j.Trials = append(j.Trials, x)
	if !j.savers.part.Due() {
		return nil
	}
	return j.savers.part.Save(j.state)
}

// saveTrials saves the trials when the tuning has ended, or was interrupted.
func (j *job) saveTrials() error {
	switch s := &j.savers; {
	case s.part.Stopping() && len(j.Trials) > 0:
		return s.part.Save(j.state)
	case s.whole != nil && !s.whole.Stopping() && !s.made:
		return s.whole.Save(j.state)
	}
	return nil
}

// state encodes or decodes the trials of a job.
func (j *job) state(c *state.Coder) {
	n := c.Count(len(j.Trials))
	for k := 0; k < n && c.Err() == nil; k++ {
		if c.Reads() {
			j.Trials = append(j.Trials, Trial{})
		}
		j.Trials[k].state(c)
	}
}

func (x *Trial) state(c *state.Coder) {
	flags := []bool{x.Reached, x.GivenUp}
	c.Bools(flags)
	x.Reached, x.GivenUp = flags[0], flags[1]
	c.Int(&x.Rounds)
	c.Float64(&x.TimeS)
	c.Float64(&x.Last)
	for _, text := range []*string{&x.Named.Split, &x.Named.Name, &x.Named.Better, &x.Named.Unit} {
		c.String(text)
	}
}

// Names returns the IDs of the runs of experiments by their places, without tuned options.
func Names(experiments []scenario.Experiment) (names []string) {
	for i := range experiments {
		for k := range experiments[i].Jobs {
			j := &experiments[i].Jobs[k]
			for _, seed := range j.Seeds {
				names = append(names, fmt.Sprintf("%s/seed=%d", j.Key(), seed))
			}
		}
	}
	return names
}

// Places returns a function that returns the index of a run of a scenario by its ID. The
// candidates of a tuned method have the same indices.
func Places(experiments []scenario.Experiment) func(id string) (place int, ok bool) {
	var seeds []map[string]int // places by seed, for each job
	n := 0
	for _, e := range experiments {
		for _, j := range e.Jobs {
			of := make(map[string]int, len(j.Seeds))
			for _, seed := range j.Seeds {
				of[strconv.FormatUint(seed, 10)] = n
				n++
			}
			seeds = append(seeds, of)
		}
	}
	jobOf := scenario.JobOf(experiments)
	return func(id string) (int, bool) {
		job, ok := jobOf(id)
		if !ok {
			return 0, false
		}
		_, seed, _ := strings.Cut(id[strings.LastIndexByte(id, '/'):], "/seed=")
		at, ok := seeds[job][seed]
		return at, ok
	}
}
