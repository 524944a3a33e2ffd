package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/checkpoint"
	"fedsim/internal/state"
	"fedsim/results"
	"fedsim/scenarios"
)

// saver returns the saver of a checkpoint with a name; nil: no checkpoints are saved.
func (r *runner) saver(name string) *checkpoint.Saver {
	return r.options.Checkpoints.Saver(r.ctx, name)
}

// runCheckpoint saves a run at the ends of its rounds. It is for runs that compute: a
// run in timing mode is repeated instead.
type runCheckpoint struct {
	*checkpoint.Saver
	able  bool       // the method is algorithms.Stateful
	rows  ClientRows // nil: there are no values by client
	saved int        // rounds at the last save
	now   int        // rounds so far
}

// checkpointRun makes a run save checkpoints under a name, and resume from the one
// under that name. A method without state starts again.
func (r *runner) checkpointRun(name string, setup *federation.Setup) (*runCheckpoint, error) {
	saver := r.saver(name)
	if saver == nil {
		return nil, nil
	}
	s := &runCheckpoint{Saver: saver}
	start := setup.Factory.New
	setup.Factory.New = func(from algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		method, err := start(from, o)
		if err == nil {
			_, s.able = algorithms.As[algorithms.Stateful](method)
		}
		return method, err
	}
	setup.Checkpoint = func(f *federation.Federation) error {
		s.now++
		if !s.able || !s.Due() {
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
	if s == nil || !s.able || s.now == s.saved {
		return nil
	}
	return s.save(f)
}

// save saves a run, and how far its values by client are.
func (s *runCheckpoint) save(f *federation.Federation) error {
	return s.Save(func(c *state.Coder) {
		if f.Save(c); s.rows != nil && c.Err() == nil {
			s.rows.State(c)
		}
	})
}

// resume makes checkpoints hold the values by client, and continues those of the
// checkpoint that the run is resumed from.
func (s *runCheckpoint) resume(setup *federation.Setup, rows ClientRows) error {
	if s == nil || rows == nil {
		return nil
	}
	if s.rows = rows; setup.Resume == nil {
		return nil
	}
	rows.State(setup.Resume)
	return setup.Resume.Err()
}

// trials saves the results of the candidates of all tuning.
type trials struct {
	mu sync.Mutex
	*checkpoint.Saver
	jobs []job
}

// restore restores the results of candidates from before the interruption.
func (t *trials) restore(r *runner, jobs []job) error {
	t.Saver, t.jobs = r.saver("tuning"), jobs
	c, err := t.Restore()
	if c == nil || err != nil {
		return err
	}
	if t.state(c); c.Err() != nil {
		return t.Reject(c.Err())
	}
	return nil
}

// name sets the options of a restored trial.
func (t *trials) name(x *Trial, options []results.Setting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.Options = options
}

// add appends the result of the next candidate of a job.
func (t *trials) add(j *job, x Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	j.Trials = append(j.Trials, x)
	return t.saveDue()
}

// saveLast saves the trials when the tuning is interrupted.
func (t *trials) saveLast() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.Stopping() || !slices.ContainsFunc(t.jobs, func(j job) bool { return len(j.Trials) > 0 }) {
		return nil
	}
	return t.saveDue()
}

func (t *trials) saveDue() error {
	if !t.Due() {
		return nil
	}
	return t.Save(t.state)
}

// state encodes or decodes the trials of each tuned job, in their order.
func (t *trials) state(c *state.Coder) {
	for i := range t.jobs {
		j := &t.jobs[i]
		n := c.Count(len(j.Trials))
		for k := 0; k < n && c.Err() == nil; k++ {
			var trial Trial
			if !c.Reads() {
				trial = j.Trials[k] // a copy: the goroutine of the job may read the original
			}
			if trial.state(c); c.Reads() {
				j.Trials = append(j.Trials, trial)
			}
		}
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

// Places returns a function that returns the index of a run of a scenario by its ID. The
// candidates of a tuned method have the same indices.
func Places(experiments []scenarios.Experiment) func(id string) (place int, ok bool) {
	var first []int
	var seeds [][]uint64
	n := 0
	for _, e := range experiments {
		for _, j := range e.Jobs {
			first, seeds = append(first, n), append(seeds, j.Seeds)
			n += len(j.Seeds)
		}
	}
	jobOf := scenarios.JobOf(experiments)
	return func(id string) (int, bool) {
		job, ok := jobOf(id)
		if !ok {
			return 0, false
		}
		at := slices.IndexFunc(seeds[job], func(seed uint64) bool { return strings.HasSuffix(id, fmt.Sprintf("/seed=%d", seed)) })
		return first[job] + at, at >= 0
	}
}
