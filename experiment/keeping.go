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

// keeping returns what keeps a thing that begins now; nil when nothing is kept.
func (r *runner) keeping(name string) *checkpoint.Saver {
	return r.options.Keep.Saver(r.ctx, name)
}

// stayed makes a run keep itself. It is for methods that compute: to go on with
// one that does not is to do it again.
type stayed struct {
	*checkpoint.Saver
	able  bool // the method is algorithms.Stateful
	round int  // that was kept last
	now   int
}

// stays lets a run be kept under a name, and go on with what was kept under it. A
// method that does not name its state starts over.
func (r *runner) stays(name string, setup *federation.Setup) (*stayed, error) {
	k := r.keeping(name)
	if k == nil {
		return nil, nil
	}
	s := &stayed{Saver: k}
	start := setup.Factory.New
	setup.Factory.New = func(from algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		method, err := start(from, o)
		_, s.able = method.(algorithms.Stateful)
		return method, err
	}
	setup.Keep = func(f *federation.Federation) error {
		s.now++
		if !s.able || !s.Due() {
			return nil
		}
		s.round = s.now
		return s.Save(f.Keep)
	}
	var err error
	setup.Kept, err = k.Restore()
	return s, err
}

// explain says of the error of a run that was gone on with that it is what was
// kept that is wrong.
func (s *stayed) explain(setup *federation.Setup, err error) error {
	if s == nil || setup.Kept == nil || setup.Kept.Err() == nil && !errors.Is(err, federation.ErrOther) {
		return err
	}
	return s.Reject(err)
}

// leave keeps a run that was interrupted just after a round was over that was not
// kept.
func (s *stayed) leave(f *federation.Federation) error {
	if s == nil || !s.able || s.now == s.round {
		return nil
	}
	return s.Save(f.Keep)
}

// trials keeps how the candidates of all tuning did.
type trials struct {
	mu sync.Mutex
	*checkpoint.Saver
	jobs []job
}

// recall takes how candidates did before the interruption.
func (t *trials) recall(r *runner, jobs []job) error {
	t.Saver, t.jobs = r.keeping("tuning"), jobs
	c, err := t.Restore()
	if c == nil || err != nil {
		return err
	}
	if t.state(c); c.Err() != nil {
		return t.Reject(c.Err())
	}
	return nil
}

// name says which options a trial from before the interruption was of.
func (t *trials) name(x *Trial, options []results.Setting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.Options = options
}

// note notes how the next candidate of a job did.
func (t *trials) note(j *job, x Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	j.Trials = append(j.Trials, x)
	return t.keepDue()
}

// end keeps what there is when the tuning is interrupted.
func (t *trials) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.Stopping() || !slices.ContainsFunc(t.jobs, func(j job) bool { return len(j.Trials) > 0 }) {
		return nil
	}
	return t.keepDue()
}

func (t *trials) keepDue() error {
	if !t.Due() {
		return nil
	}
	return t.Save(t.state)
}

// state names the trials of each job that is tuned, in the order in which the same
// trials come again.
func (t *trials) state(c *state.Coder) {
	for i := range t.jobs {
		j := &t.jobs[i]
		n := c.Count(len(j.Trials))
		for k := 0; k < n && c.Err() == nil; k++ {
			var trial Trial
			if !c.Reads() {
				trial = j.Trials[k] // the job's own goroutine may look at it
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
}

// Places returns a function that finds the place of any run of a scenario by its ID. The
// runs of a tuned method have the same places whichever candidate wins.
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
