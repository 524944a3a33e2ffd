package algorithms

import (
	"cmp"
	"math"
	"sort"

	"fedsim/config"
	"fedsim/mtl"
)

// Workload is the local work of a method that is known in advance.
type Workload struct {
	StepFLOPs float64 // of a step, beside what FLOPs adds; the most where steps differ
	// Steps returns those of a device with so many rows, of which so many are allowed; nil: they
	// depend on the data, too.
	Steps func(rows, allowed int) int
	// FLOPs returns those of so many steps on a device with so many rows, which grow with the
	// steps and are not less than StepFLOPs for each; nil: StepFLOPs for each.
	FLOPs func(rows, steps int) float64
	// Batches returns how many mini-batches so many steps on a device with so many rows make; nil:
	// a step is one.
	Batches func(rows, steps int) int
	// BatchSteps returns the steps of so many mini-batches on a device with so many rows; nil: a
	// step is one.
	BatchSteps func(rows, batches int) int
	// StepValues and BatchValues are how many values of memory a step reads and writes, and beside
	// its steps a mini-batch (docs/time.md).
	StepValues, BatchValues float64

	Extra   int // numbers that a device sends beyond the values of a model
	Vectors int // vectors as large as a model in a message, either way; 0: one
	Up      int // those in a message of a device; 0: Vectors
	Unsent  int // values of the vectors of a message, either way, that do not travel; with Up down alone
	Kept    int // vectors as large as a model that stay for each client after its response, at most
	Working int // those of a client at work, beside its message
	// vectors as large as a model that the server stores, and those of Kept that it stores for each client; 0: two for
	// each vector in a message
	Stored, StoredEach int

	Epochs float64 // passes over its rows that a device makes in a round; 0: the method has no such number
	// Limit is the option that limits local work which otherwise ends at an accuracy. Response.Capped
	// reports where it did. Empty: the method has none.
	Limit string
	// AuthorUnits is the cost of one step in the units of the authors' released drivers; 0: they
	// do not have the method.
	AuthorUnits float64

	Server *ServerWork // nil: what the server computes depends on what it learns

	// Exchange returns the messages of so many devices to each other; nil: a device exchanges messages
	// with a server.
	Exchange func(devices int, seed uint64) (Exchange, error)
}

// ServerWork is the work of a server that takes steps on the responses that it has taken, in FLOPs.
type ServerWork struct {
	Response, Step float64 // for each response and each step, both at the step
	Every          int     // the responses of a step; 0: those of a round
}

// Exchange is the messages of devices to each other, in rounds. Sizes are in numbers.
type Exchange interface {
	To(device int) int               // the size of the messages to a device in the open round
	Usual(device int) (down, up int) // the usual sizes of the messages to a device, and of those that it sends
	Upload(device int) int           // the size of those that a device sends
	Averaging(device int) float64    // the FLOPs of a device that averages the messages it has received
	Take(device int)                 // lets a device take part in the averages of the round
	Deliver()                        // ends the round
}

// MessageValues returns how many numbers the messages to and from a device about models of so many values have,
// without Extra.
func (w *Workload) MessageValues(model int) (down, up int) {
	down = max(1, w.Vectors)*model - w.Unsent
	return down, cmp.Or(w.Up*model, down)
}

// Of returns the FLOPs of so many steps on a device with so many rows.
func (w *Workload) Of(rows, steps int) float64 {
	if w.FLOPs == nil {
		return float64(float64(steps) * w.StepFLOPs)
	}
	return w.FLOPs(rows, steps)
}

// valueBytes is the size of a value in memory.
const valueBytes = 8

// Overheads returns how many mini-batches so many steps on a device with so many rows make, and
// the bytes of memory that they read and write.
func (w *Workload) Overheads(rows, steps int) (batches int, traffic float64) {
	batches = steps
	if w.Batches != nil {
		batches = w.Batches(rows, steps)
	}
	values := float64(w.StepValues*float64(steps)) + float64(w.BatchValues*float64(batches))
	return batches, valueBytes * values
}

// Within returns how many steps a device with so many rows can do with so many FLOPs, at
// most a number that an int32 has.
func (w *Workload) Within(rows int, flops float64) float64 {
	most := flops / w.StepFLOPs
	if w.FLOPs == nil || !(most >= 1) {
		return most
	}
	limit := int(min(math.MaxInt32, most))
	if w.FLOPs(rows, limit) <= flops {
		return float64(limit)
	}
	return float64(sort.Search(limit, func(n int) bool { return w.FLOPs(rows, n+1) > flops }))
}

// EpochSteps returns the steps of that many passes over so many rows, at most as many as
// a budget can have.
func EpochSteps(passes float64, rows int) int {
	return int(min(math.MaxInt32, math.Ceil(passes*float64(rows))))
}

// timing stands for a method in a run without learning: devices take as long, and
// send as much, as if they computed. Every step counts as one that moves its
// coordinate. It follows the description of the method, and refuses no response.
type timing struct {
	Described
	rows   []int32 // by device, or one number for all
	values int     // of a message to a device
	up     int     // of a message of a device
	link   *Link
	extra  int      // bytes of Workload.Extra, with a link
	mail   Exchange // nil: devices exchange messages with a server
	guard  Guard    // nil: nothing protects updates

	taken  int     // responses that wait for a step of the server
	served float64 // FLOPs of its steps that are not accounted for yet
}

var (
	_ Asynchronous = (*timing)(nil)
	_ Tiered       = (*timing)(nil)
)

// Timed returns a factory whose runs take the time and bytes of the method and learn nothing.
// New fails with a config.Problem when the method's work depends on the data.
func (f Factory) Timed() Factory {
	describe := f.Describe
	f.Describe = func(o Options, shape mtl.Shape) Description {
		d := describe(o, shape)
		return Description{
			Name: d.Name, Model: d.Model, Needs: d.Needs, MinimizesP: d.MinimizesP, Messages: d.Messages, Work: d.Work,
			HubRounds: d.HubRounds, Asynchronous: d.Asynchronous, Means: d.Means, Evaluated: ByNobody,
		}
	}
	f.New = func(s Setup, _ Options) (Algorithm, error) { return newTiming(s) }
	return f
}

func newTiming(s Setup) (*timing, error) {
	t := &timing{Described: Described{s.Description}, rows: s.Rows, guard: s.Guard}
	load := &t.About.Work
	if load.Steps == nil {
		return nil,
			config.Problem{Key: "run.mode", Value: "timing", Want: "must be \"learning\": how long " + t.About.Name +
				" computes depends on what it learns"}
	}
	t.values, t.up = load.MessageValues(s.Shape.Values())
	vectors := max(1, load.Vectors)
	t.link = NewLink(s, vectors, cmp.Or(load.Up, vectors), s.Shape.Values()-load.Unsent, t.About.Needs.Dual)
	t.link.Describe(&t.About)
	t.extra = s.ValueBytes * load.Extra
	if load.Exchange != nil {
		var err error
		if t.mail, err = load.Exchange(len(s.Rows), s.Seed); err != nil {
			return nil, err
		}
		t.About.Messages.Usual = t.mail.Usual
	}
	return t, nil
}

// Begin returns how many numbers each device is sent.
func (t *timing) Begin() (Sent, error) {
	if t.mail != nil {
		return Sent{t.values, t.mail.To}, nil
	}
	return t.link.Sent(t.open()), nil
}

func (t *timing) open() int {
	if t.link != nil {
		return t.link.open()
	}
	return t.values
}

// Send returns how many numbers the device is sent.
func (t *timing) Send(int) (int, error) { return t.open(), nil }

// Solve returns the cost of the local work.
func (t *timing) Solve(r Request) Response {
	load, rows := &t.About.Work, int(t.rows[min(r.Device, len(t.rows)-1)])
	steps := load.Steps(rows, r.Steps)
	response := Response{Steps: steps, FLOPs: load.Of(rows, steps), Values: t.up + load.Extra}
	switch {
	case t.mail != nil:
		response.FLOPs += t.mail.Averaging(r.Device)
		response.Values = t.mail.Upload(r.Device)
	case t.link != nil:
		_, up := t.link.usual(r.Device)
		response.FLOPs += t.link.perMessage()
		response.Values = up + t.extra
		t.link.ask(r.Device)
	}
	if t.guard != nil {
		response.FLOPs += t.guard.FLOPs(t.up)
	}
	return response
}

// Receive takes the response.
func (t *timing) Receive(int) (taken bool, flops float64, err error) { return true, t.take(), nil }

// take lets the server take a response, and returns the FLOPs of a step that it completes.
func (t *timing) take() (flops float64) {
	t.taken++
	if w := t.About.Work.Server; w != nil && t.taken == w.Every {
		flops = t.step()
	}
	return flops
}

// step returns the FLOPs of a step on the responses since the last.
func (t *timing) step() float64 {
	w, responses := t.About.Work.Server, float64(t.taken)
	t.taken = 0
	return float64(responses*w.Response) + w.Step
}

// Commit notes the version that the device holds, or lets it take part in the exchange of the
// round.
func (t *timing) Commit(device int, _ float64) {
	if t.mail != nil {
		t.mail.Take(device)
	}
	t.link.Commit(device)
	t.served += t.take()
}

// There is no tentative work to forget, and no model of a hub.

func (t *timing) Discard(int)  {}
func (t *timing) Gather(int)   {}
func (t *timing) Withdraw(int) {}

// End sends the models of devices to each other, and returns the FLOPs of the server, if they are known.
func (t *timing) End() (float64, error) {
	if t.mail != nil {
		t.mail.Deliver()
	}
	if w := t.About.Work.Server; w != nil && w.Every == 0 && t.taken > 0 {
		t.served = t.step()
	}
	flops := t.served
	t.served = 0
	return flops, nil
}
