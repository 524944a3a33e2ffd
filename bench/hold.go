package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// hold is the hold model of event queues (Vaucher and Duval, CACM 1975): each event that
// fires schedules another one a span later, so the number of pending events is constant.
// Spans are integers of nanoseconds, which all engines represent exactly. A span belongs
// to the number of an event, not to a device: engines that order simultaneous events
// differently still fire at the same times.
type hold struct {
	pending int
	spans   []int64 // a power of two of spans, used cyclically
}

// meanSpan is the mean span, one second, in nanoseconds.
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

// span returns the span of event k, counting the initial events.
func (h *hold) span(k int) int64 { return h.spans[k&(len(h.spans)-1)] }

// holder is an engine that runs the hold model.
type holder interface {
	name() string
	// fire fires events and returns the elapsed nanoseconds.
	fire(events int) (float64, error)
	// times fires events and returns their times.
	times(events int) ([]int64, error)
	close()
}

// ourHolder is the engine of fedsim with one of its queues.
type ourHolder struct {
	hold   *hold
	queue  string
	engine *engine.Engine
	made   int     // events so far
	record []int64 // recorded times
	keep   bool
	refill func(engine.Event)
	until  int // value of made at the end of the turn
}

func newOurHolder(h *hold, queue string) *ourHolder {
	o := &ourHolder{hold: h, queue: queue, engine: engine.New(h.pending, engine.Options{Queue: queue})}
	o.refill = o.handle
	first := make([]int64, h.pending)
	for k := range first {
		first[k] = h.span(k)
	}
	if queue == "sorted" { // fast for descending times; any other order takes minutes
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

// field is an engine in the comparison and its number of events per turn.
type field struct {
	holder
	events int
}

// compareEngines adds the rows of the hold model if its name contains only. It returns the
// missing peers.
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
				t.add(work+", "+queue, perSecond, took[q], contestants[k].name, took[k],
					engineBar(queue, engines[k].holder))
			}
		}
	}
	return missing, nil
}

// engineBar returns the required ratio for the default queue; 0: none.
func engineBar(queue string, peer holder) float64 {
	if queue != engine.DefaultQueue {
		return 0
	}
	switch p := peer.(type) {
	case *akita:
		return 10
	case *ourHolder:
		if p.queue == "heap4" {
			return 5.0 / 3 // 5 million events/s if the heap does 3 million
		}
	}
	return 0
}

// startEngines starts all engines with the hold model, those of fedsim first. It returns
// the missing peers.
func startEngines(h *hold) (started []field, missing []*notInstalled, err error) {
	for _, queue := range engine.Queues() {
		events := 300_000
		if queue == "sorted" {
			events = 50 // a push is linear in the number of events
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
