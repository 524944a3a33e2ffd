package replay

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"fedsim/algorithms"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Shared is a method whose rounds several runs read, because they differ in time alone: in each
// round the server takes the updates of all devices, so that links, clocks, drops and batteries do
// not change the model. The first run to reach a round computes it. Runs may be concurrent.
type Shared struct {
	Of      *algorithms.Method
	Problem *mtl.Problem // names values that are not finite; nil: nothing does
	Devices int
	Seed    uint64
	Pool    *algorithms.Pool
	Halt    *algorithms.Halt // when it ends work, no further round is computed
	// Steps returns the limit of the work of a device in a round; nil: there is none.
	Steps func(device, round int) int
	// Evaluate evaluates the present model.
	Evaluate func() (algorithms.Evaluation, error)
	Computed func() // is called after each computed round; nil: nothing is

	mu   sync.Mutex
	logs [][]byte // of the evaluation before the first round, then of each round with its evaluation
	err  error    // of the method
}

// Rounds returns how many rounds were computed.
func (s *Shared) Rounds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.logs) - 1
}

// State codes the rounds and the state of the method.
func (s *Shared) State(c *algorithms.Coder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range c.Count(len(s.logs)) {
		if c.Reads() {
			s.logs = append(s.logs, nil)
		}
		if c.Bytes(&s.logs[h]); c.Err() != nil {
			return
		}
	}
	s.Of.Stateful.State(c)
}

// Follow returns the method of runs that read the rounds.
func (s *Shared) Follow(f algorithms.Factory) algorithms.Factory {
	f.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) { return s.follower(), nil }
	return f
}

func (s *Shared) follower() *follower {
	d := s.Of.About
	// A run has the abilities of the shared method that its log serves. That evaluates its model itself.
	about := algorithms.Description{
		Name: d.Name, Model: d.Model, Learns: d.Learns, Needs: d.Needs, MinimizesP: d.MinimizesP,
		Evaluated: algorithms.ByMethod, Own: d.Own, Metrics: d.Metrics, Messages: d.Messages, Work: d.Work,
		Inspected: true,
	}
	return &follower{Described: algorithms.Described{About: about}, answers: answers{reads: true}, of: s, round: -1}
}

// log returns the answers of round h, after computing the missing rounds up to it; those of round
// 0 are the evaluation before the first. It is nil when work was ended, or the method has failed.
func (s *Shared) log(h int) ([]byte, error) {
	for {
		log, computed, err := s.have(h)
		if log != nil || !computed {
			return log, err
		}
		if s.Computed != nil {
			s.Computed()
		}
	}
}

// have returns the answers of round h. If they are not there, it computes the next round, unless
// work is ended.
func (s *Shared) have(h int) (log []byte, computed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h < len(s.logs) {
		return s.logs[h], false, nil
	}
	if s.err == nil && !s.Halt.Halted() {
		computed = s.compute()
	}
	return nil, computed, s.err
}

// compute runs the next round with every device. It reports whether that was done.
func (s *Shared) compute() bool {
	var t answers
	if h := len(s.logs) - 1; h >= 0 {
		if s.err = s.step(&t, h); s.err != nil || s.Halt.Halted() {
			return false
		}
	}
	var evaluation algorithms.Evaluation
	if evaluation, s.err = s.Evaluate(); s.err != nil {
		return false
	}
	t.code(func(c *state.Coder) { codeEvaluation(c, &evaluation) })
	s.logs = append(s.logs, t.log)
	return true
}

// step logs the answers of the method in round h.
func (s *Shared) step(t *answers, h int) error {
	sent, err := s.Of.Begin()
	responses := make([]algorithms.Response, s.Devices)
	s.Pool.For(len(responses), func(k, worker int) {
		steps := algorithms.NoLimit
		if s.Steps != nil {
			steps = s.Steps(k, h)
		}
		responses[k] = s.Of.Solve(algorithms.Request{
			Device: k, Round: h, Steps: steps, Worker: worker, Stream: rng.New(s.Seed, rng.Solve, k, h), Halt: s.Halt,
		})
	})
	if s.Halt.Halted() {
		return nil
	}
	t.count(&sent.Size)
	for k := range responses {
		err = cmp.Or(err, responses[k].Err)
		t.response(&responses[k])
		broken := s.broken(k)
		t.text(&broken)
		s.Of.Commit(k, 1)
	}
	flops, failed := s.Of.End()
	t.amount(&flops)
	return cmp.Or(err, failed)
}

// broken returns the array of the update of a device that has NaN or an infinity; empty: none has.
func (s *Shared) broken(device int) string {
	if s.Of.Inspected == nil {
		return ""
	}
	update := s.Of.Inspected.Update(device)
	return update.Broken(s.Problem)
}

func codeEvaluation(c *state.Coder, e *algorithms.Evaluation) {
	for _, x := range e.Metrics.Fields() {
		c.Float64(x)
	}
	c.Uint64(&e.Hash)
	n := c.Count(len(e.Values))
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			e.Values = append(e.Values, algorithms.NamedValue{})
		}
		v := &e.Values[i]
		c.String(&v.Split)
		c.String(&v.Name)
		c.Float64(&v.Value)
	}
	n = c.Count(len(e.Clients))
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			e.Clients = append(e.Clients, algorithms.ClientMetric{})
		}
		m := &e.Clients[i]
		c.String(&m.Split)
		c.String(&m.Name)
		for j := range c.Count(len(m.Clients)) {
			if c.Reads() {
				m.Clients, m.Values = append(m.Clients, 0), append(m.Values, 0)
			}
			client := int(m.Clients[j])
			c.Int(&client)
			m.Clients[j] = int32(client)
			if c.Float64(&m.Values[j]); c.Err() != nil {
				return
			}
		}
	}
}

// follower is the method of a run that reads shared rounds.
type follower struct {
	algorithms.Described // its model was evaluated, and the coupling is fixed
	answers
	of     *Shared
	round  int // whose log is read; -1: none yet
	works  []algorithms.Response
	broken map[int]string // by device, the array of its update that has NaN or an infinity
	flops  float64
	taken  int // updates of the round
}

var (
	_ algorithms.Inspected = (*follower)(nil)
	_ algorithms.Reporter  = (*follower)(nil)
)

// next begins to read the log of the next round.
func (f *follower) next() (there bool, err error) {
	f.round++
	f.log, err = f.of.log(f.round)
	f.at = 0
	return f.log != nil, err
}

// Begin opens a round.
func (f *follower) Begin() (sent algorithms.Sent, err error) {
	f.works, f.broken, f.flops, f.taken = f.works[:0], nil, 0, 0
	there, err := f.next()
	if !there || err != nil {
		return sent, err
	}
	f.count(&sent.Size)
	for k := range f.of.Devices {
		var w algorithms.Response
		f.response(&w)
		broken := ""
		if f.text(&broken); broken != "" {
			if f.broken == nil {
				f.broken = map[int]string{}
			}
			f.broken[k] = broken
		}
		f.works = append(f.works, w)
	}
	f.amount(&f.flops)
	return sent, f.err
}

// Solve returns the work of the device; none if the round was not computed.
func (f *follower) Solve(q algorithms.Request) (w algorithms.Response) {
	if len(f.works) == 0 {
		q.Halt.Pass(f.of.Halt)
		return w
	}
	return f.works[q.Device]
}

// Commit counts the update: the shared rounds have all.
func (f *follower) Commit(int, float64) { f.taken++ }

// Discard does nothing: a run discards work only if it stalls, in its last round.
func (f *follower) Discard(int) {}

// End closes the round. It fails if the server did not take all updates.
func (f *follower) End() (flops float64, err error) {
	if len(f.works) > 0 && f.taken != f.of.Devices {
		return 0, fmt.Errorf("its rounds are shared, and the server took %d of %d updates", f.taken, f.of.Devices)
	}
	return f.flops, nil
}

// Evaluate returns the evaluation after the round.
func (f *follower) Evaluate() (evaluation algorithms.Evaluation, err error) {
	if f.round < 0 {
		_, err = f.next()
	}
	if f.code(func(c *state.Coder) { codeEvaluation(c, &evaluation) }); err == nil {
		err = f.err
	}
	return evaluation, err
}

// Update returns an update that is finite, or is not, as that of the device.
func (f *follower) Update(device int) (u algorithms.Update) {
	if array := f.broken[device]; array != "" {
		u = algorithms.Update{Array: array, Values: []float64{math.NaN()}}
	}
	return u
}
