package main

import (
	"runtime/debug"
	"time"

	"github.com/sarchlab/akita/v4/sim"
)

// akita is Akita's serial engine. It runs in a separate goroutine until there are no
// events; its handler waits between turns.
type akita struct {
	hold   *hold
	engine *sim.SerialEngine
	made   int
	left   int // events of this turn
	turns  chan int
	done   chan struct{}
	ended  bool
	record []int64
	keep   bool // record times
}

func newAkita(h *hold) *akita {
	a := &akita{hold: h, engine: sim.NewSerialEngine(), made: h.pending, turns: make(chan int),
		done: make(chan struct{})}
	for k := range h.pending {
		a.engine.Schedule(sim.NewEventBase(sim.VTimeInSec(h.span(k)), a))
	}
	go func() { _ = a.engine.Run() }() // it never returns an error
	return a
}

// name returns the name with the linked version.
func (a *akita) name() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/sarchlab/akita/v4" {
				return "Akita " + m.Version
			}
		}
	}
	return "Akita"
}

// Handle handles an event of the engine. Times are in nanoseconds instead of Akita's
// seconds.
func (a *akita) Handle(e sim.Event) error {
	if a.left == 0 && !a.next() {
		return nil
	}
	if a.keep {
		a.record = append(a.record, int64(e.Time()))
	}
	a.engine.Schedule(sim.NewEventBase(e.Time()+sim.VTimeInSec(a.hold.span(a.made)), a))
	a.made++
	if a.left--; a.left == 0 {
		a.done <- struct{}{}
	}
	return nil
}

// next waits for the next turn. After the last turn it returns false: the pending events
// fire without effect, and the engine returns.
func (a *akita) next() bool {
	if !a.ended {
		turn, more := <-a.turns
		a.left, a.ended = turn, !more
	}
	return !a.ended
}

func (a *akita) fire(events int) (float64, error) {
	begin := time.Now()
	a.turns <- events
	<-a.done
	return float64(time.Since(begin)), nil
}

func (a *akita) times(events int) ([]int64, error) {
	a.keep, a.record = true, nil
	_, err := a.fire(events)
	a.keep = false
	return a.record, err
}

func (a *akita) close() { close(a.turns) }
