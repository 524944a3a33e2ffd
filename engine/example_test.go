package engine_test

import (
	"fmt"

	"fedsim/engine"
)

// A server gives two devices 300 ms to respond. Simultaneous events fire in the order of
// their kinds, so a response at the deadline is on time.
func Example() {
	const (
		answer engine.Kind = iota
		deadline
	)
	e := engine.New(2, engine.Options{})
	e.Schedule(engine.FromSeconds(0.3), deadline, engine.Server)
	e.Schedule(engine.FromSeconds(0.3), answer, 0)
	late := e.Schedule(engine.FromSeconds(0.5), answer, 1)
	e.Run(func(ev engine.Event) {
		switch ev.Kind {
		case answer:
			fmt.Println(e.Now(), "device", ev.Device, "answers")
		case deadline:
			fmt.Println(e.Now(), "deadline; device 1 was late:", e.Cancel(late))
		}
	})
	// Output:
	// 300ms device 0 answers
	// 300ms deadline; device 1 was late: true
}
