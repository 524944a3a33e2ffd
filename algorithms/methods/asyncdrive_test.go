package methods

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// course is a run without rounds on a separate clock: the driver sends to a device,
// takes its response after a delay, and sends to it again. Simultaneous responses come
// in device order.
type course struct {
	a        algorithms.Asynchronous
	p        *mtl.Problem
	delay    func(device, attempt int) float64
	lost     func(device, attempt int) bool // nil: none
	lazy     bool                           // solve all pending ones in parallel before the first response is received
	steps    int                            // most steps of a response; 0: NoLimit
	due      []float64                      // when the server receives a device's response
	attempts []int
	pending  []int // devices that were sent to and have not solved
	taken    int
	refused  int
	stopped  []int // devices whose work the last response has ended
	now      float64
	flops    float64
}

func newCourse(a algorithms.Algorithm, p *mtl.Problem, delay func(device, attempt int) float64) *course {
	return &course{a: a.(algorithms.Asynchronous), p: p, delay: delay, due: make([]float64, p.Clients()),
		attempts: make([]int, p.Clients())}
}

// random returns delays between 1 and spread that differ from device to device by
// as much, drawn from a seed.
func random(seed uint64, spread float64) func(device, attempt int) float64 {
	return func(device, attempt int) float64 {
		pace, s := rng.New(seed, rng.Spread, device, 0), rng.New(seed, rng.Uplink, device, attempt)
		return math.Pow(spread, pace.Float64()) * (1 + (spread-1)*s.Float64())
	}
}

// begin sends to every device.
func (c *course) begin() {
	for k := range c.due {
		c.send(k)
	}
}

func (c *course) send(k int) {
	c.a.Send(k)
	c.due[k] = c.now + c.delay(k, c.attempts[k])
	if c.lazy {
		c.pending = append(c.pending, k)
		return
	}
	c.solve(k, 0)
}

func (c *course) solve(k, worker int) {
	steps := c.steps
	if steps == 0 {
		steps = algorithms.NoLimit
	}
	c.a.Solve(request(k, c.attempts[k], steps, worker))
}

// next takes or loses the next response, and sends to its device again.
func (c *course) next() (device int, taken bool) {
	k := 0
	for i, due := range c.due {
		if due < c.due[k] {
			k = i
		}
	}
	c.now = c.due[k]
	if len(c.pending) > 0 {
		testPool.For(len(c.pending), func(i, worker int) { c.solve(c.pending[i], worker) })
		c.pending = c.pending[:0]
	}
	if c.lost != nil && c.lost(k, c.attempts[k]) {
		c.a.Discard(k)
	} else {
		var flops float64
		taken, flops, _ = c.a.Receive(k)
		c.flops += flops
		if taken {
			c.taken++
		} else {
			c.refused++
		}
	}
	c.attempts[k]++
	c.send(k)
	c.stop()
	return k, taken
}

// stop stops the devices whose work the server has no use of any more, and sends to them again.
func (c *course) stop() {
	c.stopped = c.stopped[:0]
	about := c.a.Describe()
	if about.Obsolete == nil {
		return
	}
	for _, k := range slices.Clone(about.Obsolete()) {
		k := int(k)
		c.a.Discard(k)
		c.stopped = append(c.stopped, k)
		c.attempts[k]++
		c.send(k)
	}
}

// asynchronousMethods are the registered methods that work without rounds.
func asynchronousMethods(t *testing.T) []string {
	t.Helper()
	p, c := randomProblem(t, untied, nil, 3, 4, 4)
	var names []string
	for _, name := range learningMethods() {
		if _, ok := start(t, name, p, c, smaller).(algorithms.Asynchronous); ok {
			names = append(names, name)
		}
	}
	return names
}
