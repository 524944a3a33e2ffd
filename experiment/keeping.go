package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/state"
	"fedsim/scenarios"
)

// Keeper keeps what computations have come to under names, to go on with it after
// an interruption. Calls for different names may overlap.
type Keeper interface {
	// Keep replaces what is kept under a name by what fill writes, or fails and
	// leaves it as it was.
	Keep(name string, fill func(io.Writer) error) error
	// Kept returns what is kept under a name, nil when nothing is.
	Kept(name string) ([]byte, error)
	// Refuse returns the error of what is kept under a name and cannot be gone on with.
	Refuse(name string, why error) error
}

// keeping keeps one thing at most every so often. A nil one keeps nothing.
type keeping struct {
	runner *runner
	name   string
	last   time.Time // when it was kept, or began
}

// keeping returns what keeps a thing that begins now; nil when nothing is kept.
func (r *runner) keeping(name string) *keeping {
	if r.options.Keep == nil {
		return nil
	}
	return &keeping{runner: r, name: name, last: r.options.Clock()}
}

// due reports whether it is time to keep the thing: long enough after the last
// time, or when everything ends.
func (k *keeping) due() bool {
	if k == nil {
		return false
	}
	return k.runner.ctx.Err() != nil || k.runner.options.Clock().Sub(k.last) >= k.runner.options.KeepEvery
}

// keep keeps what is named.
func (k *keeping) keep(named func(*state.Coder)) error {
	err := k.runner.options.Keep.Keep(k.name, func(w io.Writer) error {
		c := state.Writing(w)
		named(c)
		return c.Err()
	})
	k.last = k.runner.options.Clock()
	return err
}

// kept returns what the thing is gone on with; nil when nothing was kept of it.
func (k *keeping) kept() (*state.Coder, error) {
	if k == nil {
		return nil, nil
	}
	content, err := k.runner.options.Keep.Kept(k.name)
	if content == nil || err != nil {
		return nil, err
	}
	return state.Reading(bytes.NewReader(content)), nil
}

// refuse says that what was kept is of no use.
func (k *keeping) refuse(why error) error { return k.runner.options.Keep.Refuse(k.name, why) }

// stayed makes a run keep itself. It is for methods that compute: to go on with
// one that does not is to do it again.
type stayed struct {
	*keeping
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
	s := &stayed{keeping: k}
	start := setup.Factory.New
	setup.Factory.New = func(from algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		method, err := start(from, o)
		_, s.able = method.(algorithms.Stateful)
		return method, err
	}
	setup.Keep = func(f *federation.Federation) error {
		s.now++
		if !s.able || !s.due() {
			return nil
		}
		s.round = s.now
		return s.keep(f.Keep)
	}
	var err error
	setup.Kept, err = k.kept()
	return s, err
}

// explain says of the error of a run that was gone on with that it is what was
// kept that is wrong.
func (s *stayed) explain(setup *federation.Setup, err error) error {
	if s == nil || setup.Kept == nil || setup.Kept.Err() == nil && !errors.Is(err, federation.ErrOther) {
		return err
	}
	return s.refuse(err)
}

// leave keeps a run that was interrupted just after a round was over that was not
// kept.
func (s *stayed) leave(f *federation.Federation) error {
	if s == nil || !s.able || s.now == s.round {
		return nil
	}
	return s.keep(f.Keep)
}

// trials keeps how the candidates of all tuning did.
type trials struct {
	mu sync.Mutex
	*keeping
	jobs []job
}

// recall takes how candidates did before the interruption.
func (t *trials) recall(r *runner, jobs []job) error {
	t.keeping, t.jobs = r.keeping("tuning"), jobs
	c, err := t.kept()
	if c == nil || err != nil {
		return err
	}
	if t.state(c); c.Err() != nil {
		return t.refuse(c.Err())
	}
	return nil
}

// note notes how a candidate of a job did.
func (t *trials) note(j *job, x Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	j.Trials[j.tried] = x
	j.tried++
	return t.keepDue()
}

// end keeps what there is when the tuning is interrupted.
func (t *trials) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keeping == nil || t.runner.ctx.Err() == nil {
		return nil
	}
	return t.keepDue()
}

func (t *trials) keepDue() error {
	if !t.due() {
		return nil
	}
	return t.keep(t.state)
}

// state names the trials of each job that is tuned.
func (t *trials) state(c *state.Coder) {
	for i := range t.jobs {
		j := &t.jobs[i]
		n := c.Count(j.tried)
		if n > len(j.Trials) {
			c.Fail(fmt.Errorf("%d trials of %d candidates", n, len(j.Trials)))
		}
		if c.Err() != nil {
			return
		}
		if c.Reads() {
			j.tried = n
		}
		for k := range n {
			trial := j.Trials[k] // the job's own goroutine may look at it
			trial.state(c)
			if c.Reads() {
				trial.Options = j.Candidates[k].Tuned
				j.Trials[k] = trial
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

// Places returns the place of every run that a scenario may leave, by its ID: of a
// method that is tuned, whichever candidate wins.
func Places(experiments []scenarios.Experiment) map[string]int {
	places := map[string]int{}
	first := 0
	for _, e := range experiments {
		for _, j := range e.Jobs {
			for _, run := range j.Candidates {
				for k, seed := range j.Seeds {
					places[run.WithSeed(seed).ID] = first + k
				}
			}
			first += len(j.Seeds)
		}
	}
	return places
}
