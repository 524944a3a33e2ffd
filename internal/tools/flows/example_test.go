package flows_test

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/tools/flows"
)

// Two devices of 10 Mbps upload a megabyte each to a server with 12 Mbps, the second one
// half a second later. Alone, the first would take 800 ms.
func ExampleFairShare() {
	s := flows.New(2, flows.Tree{ServerMbps: 12})
	s.SetRate(0, 0, 10)
	s.SetRate(0, 1, 10)
	s.Begin(0, 0, 1e6, 0)
	s.Begin(0, 1, 1e6, 500e6)
	for now := s.Next(); now < engine.Never; now = s.Next() { // an event in the engine's queue, moved when Next changes
		for device, ok := s.TakeEnded(now); ok; device, ok = s.TakeEnded(now) {
			fmt.Printf("device %d after %v\n", device, now)
		}
	}
	// Output:
	// device 0 after 1s
	// device 1 after 1.5s
}
