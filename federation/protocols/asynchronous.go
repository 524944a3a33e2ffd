package protocols

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/federation"
)

// Asynchronous has no rounds: the server takes every response when it arrives and asks
// another client with the present model. In the results, a round ends with as many
// responses as clients are at work at a time.
const Asynchronous = "asynchronous"

type asynchronous struct {
	opts asynchronousOptions
	sums []float64 // of routing, up to each of its values
}

// asynchronousOptions are the options of the protocol.
type asynchronousOptions struct {
	// whether a task goes to any client, drawn anew for each, as in papers on queueing: one that is at
	// work keeps it, with the model of that instant, until it has done those before
	// (docs/theory.md#tasks-that-queue). Needs run.mode = "timing"
	Queue bool `toml:"queue"`
	// queue: relative probabilities of the clients, which take them in turn: client t has that of t mod
	// the length of the list
	Routing []float64 `toml:"routing" absent:"[]: all are equal"`
}

// Validate reports everything wrong with the options.
func (o *asynchronousOptions) Validate(c *config.Checker) {
	c.Require(o.Queue || len(o.Routing) == 0, "routing", o.Routing, "must be empty without queue")
	for i, p := range o.Routing {
		c.Require(p > 0 && p <= 1e9, fmt.Sprintf("routing[%d]", i), p, "must be positive and at most 1e9")
	}
}

// Routing returns whether clients queue tasks under a protocol with options, and the probability of each of n then.
func Routing(options any, n int) (probability []float64, queue bool) {
	o, ok := options.(*asynchronousOptions)
	if !ok || !o.Queue {
		return nil, false
	}
	p, sum := make([]float64, n), 0.0
	for i := range p {
		p[i] = 1
		if len(o.Routing) > 0 {
			p[i] = o.Routing[i%len(o.Routing)]
		}
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, true
}

// Route draws a client.
func (a *asynchronous) Route(clients int, s federation.Stream) int {
	if len(a.opts.Routing) == 0 {
		return s.IntN(clients)
	}
	if a.sums == nil {
		p, _ := Routing(&a.opts, clients)
		sum := 0.0
		for _, v := range p {
			sum += v
			a.sums = append(a.sums, sum)
		}
	}
	at, _ := slices.BinarySearch(a.sums, float64(s.Float64()*a.sums[clients-1]))
	return min(at, clients-1)
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:    Asynchronous,
		Summary: "no rounds: every response is taken at its arrival",
		Keys:    []string{"selection"},
		Options: func() config.Options { return &asynchronousOptions{} },
		Traits: func(c *federation.Config) federation.Traits {
			_, queues := Routing(c.ProtocolOptions, 0)
			return federation.Traits{End: federation.EndsWithCount, Continuous: true, Queues: queues,
				Late: c.KeepsLate()}
		},
		Validate: func(f *federation.Config, c *config.Checker) {
			by, known := federation.LookupSelector(f.Selection)
			c.Require(by.Unlisted || !known || f.Selection == federation.Defaults().Selection, "selection", f.Selection,
				fmt.Sprintf(
					"must be %q or a selection by rejection under protocol %q, which has no rounds to choose for",
					federation.Defaults().Selection, Asynchronous))
			_, queues := Routing(f.ProtocolOptions, 0)
			c.Require(!queues || !f.Lazy(), "population", f.Population,
				"must be \"eager\" with protocol_options.queue: every client has a queue")
			c.Require(!queues || !by.Unlisted, "selection", f.Selection,
				"must be left out with protocol_options.queue: protocol_options.routing says who is asked")
		},
		New: func(_ *federation.Config, o config.Options) (federation.Protocol, error) {
			return &asynchronous{opts: *o.(*asynchronousOptions)}, nil
		},
	})
}

func (*asynchronous) Open(*federation.OpenRound) {}

func (*asynchronous) Responded(r *federation.OpenRound, _ int) {
	if r.Received() >= r.Needed() { // compass takes several at once
		r.End()
	}
}

func (*asynchronous) Exhausted(*federation.OpenRound) {}

func (*asynchronous) Close(*federation.OpenRound) {}
