package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/state"
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
func (r *runner) checkpointRun(name string, setup *learning.Setup) (*runCheckpoint, error) {
	saver := r.saver(name)
	if saver == nil {
		return nil, nil
	}
	s := &runCheckpoint{Saver: saver}
	setup.Checkpoint = func(f *learning.Federation) error {
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
func (r *runCheckpoint) explain(setup *learning.Setup, err error) error {
	if r == nil || setup.Resume == nil || setup.Resume.Err() == nil && !errors.Is(err, learning.ErrMismatch) {
		return err
	}
	return r.Reject(err)
}

// saveLast saves a run that was interrupted after a round without a checkpoint.
func (r *runCheckpoint) saveLast(f *learning.Federation) error {
	if r == nil || !f.Stateful() || r.now == r.saved {
		return nil
	}
	return r.save(f)
}

// save saves a run, and how far its record is.
func (r *runCheckpoint) save(f *learning.Federation) error {
	return r.Save(func(c *state.Coder) {
		if f.Save(c); r.rows != nil && c.Err() == nil {
			r.rows.State(c)
		}
	})
}

// resume makes checkpoints hold how far the record is, and continues that of the checkpoint
// that the run is resumed from.
func (r *runCheckpoint) resume(setup *learning.Setup, rows results.Rows) error {
	if r == nil || rows == nil {
		return nil
	}
	if r.rows = rows; setup.Resume == nil {
		return nil
	}
	rows.State(setup.Resume)
	return setup.Resume.Err()
}

// stepSaver saves the state of work that grows step by step, as that of a tuning or of a data set of a
// table: the part so far, and the whole for other calls when it is complete.
type stepSaver struct {
	state func(*state.Coder)
	part  *checkpoint.Saver // nil: no checkpoints
	whole *checkpoint.Saver // nil: no other call needs it
	from  *checkpoint.Saver // that the state was restored from; nil: none

	mu     sync.Mutex
	grew   bool  // since the last save
	failed error // of the first save that failed
}

// stepEvery is the least time between two saves of steps that have ended. A save takes milliseconds, and
// so may a step.
const stepEvery = time.Second

// newStepSaver restores the state of a name, complete or from before an interruption.
func (r *runner) newStepSaver(name string, state func(*state.Coder)) (*stepSaver, error) {
	policy := r.options.Checkpoints
	policy.Every = min(policy.Every, stepEvery)
	s := &stepSaver{state: state, part: policy.Saver(r.ctx, name)}
	if whole, shared := r.stateSaver(name); shared {
		s.whole = whole
	}
	for _, from := range []*checkpoint.Saver{s.whole, s.part} {
		if found, err := from.Load(state); err != nil {
			return nil, err
		} else if found {
			s.from = from
			break
		}
	}
	return s, nil
}

// complete reports whether the complete state was restored.
func (s *stepSaver) complete() bool { return s != nil && s.from != nil && s.from == s.whole }

// step saves the state after a step, if it is time.
func (s *stepSaver) step() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grew = true; s.part.Due() {
		s.save()
	}
	return s.failed
}

// flush saves the state, unless it is saved.
func (s *stepSaver) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.part != nil && s.grew {
		s.save()
	}
	return s.failed
}

// save saves the state, unless an earlier save failed. The caller holds the lock.
func (s *stepSaver) save() {
	if s.grew = false; s.failed == nil {
		s.failed = s.part.Save(s.state)
	}
}

// end saves the state: the part, and all of a complete computation for other calls.
func (s *stepSaver) end() error {
	if err := s.flush(); err != nil || s.whole == nil || s.complete() || s.whole.Stopping() {
		return err
	}
	return s.whole.Save(s.state)
}

// name identifies the tuning of a job: the ID of its runs without tuned options, and without the seed unless each
// has its own.
func (j *job) name() string {
	if j.folds > 0 {
		return fmt.Sprintf("%s/seed=%d", j.Key(), j.Seeds[j.places[0]])
	}
	return j.Key()
}

// tuningName is the name of the state of the tuning of a job.
func (j *job) tuningName() string { return "trials of " + j.name() }

// restore restores the trials of a job, and the ended runs of the trial under way, from before an
// interruption, or from an earlier batch.
func (r *runner) restore(j *job) (err error) {
	if had := r.tuned[j.name()]; had != nil {
		j.Trials, j.saved, j.seeds = had.Trials, had.saved, had.seeds
		return nil
	}
	if j.saved, err = r.newStepSaver(j.tuningName(), j.state); err != nil || j.under == 1 {
		return err
	}
	j.seeds, err = r.newStepSaver("seeds of "+j.tuningName(), j.endedState)
	return err
}

// save saves the trials of a job, and the ended runs of the trial under way.
func (j *job) save() error {
	err := j.saved.end()
	if len(j.ended) > 0 {
		err = cmp.Or(err, j.seeds.flush())
	}
	return err
}

// state encodes or decodes the trials of a job.
func (j *job) state(c *state.Coder) { trialsState(c, &j.Trials) }

// endedState encodes or decodes the ended runs of the trial under way, and its number. Those of an
// earlier trial are dropped.
func (j *job) endedState(c *state.Coder) {
	at := len(j.Trials)
	c.Int(&at)
	if trialsState(c, &j.ended); at != len(j.Trials) {
		j.ended = nil
	}
}

func trialsState(c *state.Coder, trials *[]Trial) {
	n := c.Count(len(*trials))
	for k := 0; k < n && c.Err() == nil; k++ {
		if c.Reads() {
			*trials = append(*trials, Trial{})
		}
		(*trials)[k].state(c)
	}
}

func (tr *Trial) state(c *state.Coder) {
	flags := []bool{tr.Reached, tr.GivenUp}
	c.Bools(flags)
	tr.Reached, tr.GivenUp = flags[0], flags[1]
	c.Int(&tr.Rounds)
	c.Float64(&tr.TimeS)
	c.Float64(&tr.Last)
	n := c.Count(len(tr.wrong.sum))
	if c.Reads() && c.Err() == nil {
		tr.wrong = wrongRows{make([]float64, n), make([]int, n)}
	}
	c.Float64s(tr.wrong.sum)
	c.Ints(tr.wrong.rows)
	for _, text := range []*string{&tr.Named.Split, &tr.Named.Name, &tr.Named.Better, &tr.Named.Unit} {
		c.String(text)
	}
}

// Names returns the IDs of the runs of experiments by their places, without tuned options.
func Names(experiments []scenario.Experiment) (names []string) {
	for j := range scenario.Jobs(experiments) {
		for _, seed := range j.Seeds {
			names = append(names, fmt.Sprintf("%s/seed=%d", j.Key(), seed))
		}
	}
	return names
}

// Places returns a function that returns the index of a run of a scenario by its ID. The
// candidates of a tuned method have the same indices.
func Places(experiments []scenario.Experiment) func(id string) (place int, ok bool) {
	var seeds []map[string]int // places by seed, for each job
	n := 0
	for j := range scenario.Jobs(experiments) {
		of := make(map[string]int, len(j.Seeds))
		for _, seed := range j.Seeds {
			of[strconv.FormatUint(seed, 10)] = n
			n++
		}
		seeds = append(seeds, of)
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
