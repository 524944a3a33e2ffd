package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// hold is the work of an event engine, the hold model: each event that fires
// makes another one span later, so that as many stay pending (Vaucher and Duval,
// CACM 1975). Spans are whole nanoseconds, which all engines hold exactly, and
// belong to the number of the event, not to a device: engines that fire events
// of one instant in different orders still fire at the same instants.
type hold struct {
	pending int
	spans   []int64 // a power of two of them, used over and over
}

// meanSpan is the mean of the spans, a second: what devices take to compute and
// send.
const meanSpan = 1e9

// newHold draws exponential spans.
func newHold(pending int) *hold {
	h := &hold{pending: pending, spans: make([]int64, 1<<16)}
	draws := rng.New(1, rng.Synthetic, 0, 0)
	for k := range h.spans {
		h.spans[k] = int64(-meanSpan * math.Log1p(-draws.Float64()))
	}
	return h
}

// span returns that of the k-th event there is, those pending at first included.
func (h *hold) span(k int) int64 { return h.spans[k&(len(h.spans)-1)] }

// holder is an engine that runs the hold model.
type holder interface {
	name() string
	// fire fires events and returns the nanoseconds it took.
	fire(events int) (float64, error)
	// times fires events and returns the instant of each.
	times(events int) ([]int64, error)
	close()
}

// ourHolder is fedsim's engine with one of its queues.
type ourHolder struct {
	hold   *hold
	queue  string
	engine *engine.Engine
	made   int     // events there have been
	record []int64 // instants, when they are asked for
	keep   bool
	refill func(engine.Event)
	until  int // made, when a turn ends
}

func newOurHolder(h *hold, queue string) *ourHolder {
	o := &ourHolder{hold: h, queue: queue, engine: engine.New(h.pending, engine.Options{Queue: queue})}
	o.refill = o.handle
	first := make([]int64, h.pending)
	for k := range first {
		first[k] = h.span(k)
	}
	if queue == "sorted" { // which takes the latest first at once, and minutes for any other order
		slices.SortFunc(first, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	for device, at := range first {
		o.engine.Schedule(engine.Time(at), 0, device)
	}
	o.made = h.pending
	return o
}

func (o *ourHolder) name() string { return "fedsim " + o.queue }

func (o *ourHolder) close() {}

func (o *ourHolder) handle(ev engine.Event) {
	if o.keep {
		o.record = append(o.record, int64(ev.At))
	}
	o.engine.Schedule(ev.At+engine.Time(o.hold.span(o.made)), 0, int(ev.Device))
	if o.made++; o.made == o.until {
		o.engine.Stop()
	}
}

func (o *ourHolder) fire(events int) (float64, error) {
	o.until = o.made + events
	begin := time.Now()
	o.engine.Run(o.refill)
	return float64(time.Since(begin)), nil
}

func (o *ourHolder) times(events int) ([]int64, error) {
	o.keep, o.record = true, nil
	_, err := o.fire(events)
	o.keep = false
	return o.record, err
}

// field is an engine in the comparison and how many events it fires in a turn.
type field struct {
	holder
	events int
}

// compareEngines adds the rows of the hold model if its name contains only, and
// returns the peers that are not installed.
func compareEngines(t table, repetitions int, only string) (missing []*notInstalled, err error) {
	const work = "event, 1e6 pending"
	if !strings.Contains(work, only) {
		return nil, nil
	}
	h := newHold(1e6)
	engines, missing, err := startEngines(h)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, e := range engines {
			e.close()
		}
	}()
	contestants := make([]contestant, len(engines))
	for k, e := range engines {
		if _, err := e.fire(5 * e.events); err != nil {
			return nil, err
		}
		contestants[k] = contestant{e.name(), func() (float64, error) {
			ns, err := e.fire(e.events)
			return ns / float64(e.events), err
		}}
	}
	took, err := race(repetitions, contestants)
	if err != nil {
		return nil, err
	}
	queues := len(engine.Queues())
	for q, queue := range engine.Queues() {
		for k := range engines {
			if k != q && (k >= queues || q == 0) {
				t.add(work+", "+queue, perSecond, took[q], contestants[k].name, took[k], engineBar(queue, engines[k].holder))
			}
		}
	}
	return missing, nil
}

// engineBar is what the default queue is asked to be faster by.
func engineBar(queue string, peer holder) float64 {
	if queue != engine.DefaultQueue {
		return 0
	}
	switch p := peer.(type) {
	case *akita:
		return 10
	case *ourHolder:
		if p.queue == "heap4" {
			return 5.0 / 3 // 5 million events a second where the heap makes 3
		}
	}
	return 0
}

// startEngines starts all engines on the hold model, those of fedsim first, and
// returns those that are not installed.
func startEngines(h *hold) (started []field, missing []*notInstalled, err error) {
	for _, queue := range engine.Queues() {
		events := 300_000
		if queue == "sorted" {
			events = 50 // a push walks over the events before it
		}
		started = append(started, field{newOurHolder(h, queue), events})
	}
	started = append(started, field{newAkita(h), 100_000})
	for _, module := range simpyModules {
		s, err := newSimpy(h, module)
		m, err := leftOut(err)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("SimPy: %w", err)
		case m != nil:
			missing = append(missing, m)
		default:
			started = append(started, field{s, 20_000})
		}
	}
	return started, missing, nil
}
