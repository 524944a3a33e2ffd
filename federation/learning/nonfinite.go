package learning

import (
	"fmt"
	"sync"
	"sync/atomic"

	"fedsim/federation"
)

// nonfinite are the devices whose tentative update has NaN or an infinity, and the array that
// has it.
type nonfinite struct {
	some atomic.Bool // of is not empty, or was not
	mu   sync.Mutex  // devices solve at once
	of   map[int]string

	err    error // of the work of a device, the lowest that has one
	device int
}

// examine notes the error of the work of a device, and whether its update is finite.
func (f *Federation) examine(client int, err error) {
	array := ""
	if of := f.method.Inspected; of != nil && err == nil {
		update := of.Update(client)
		array = update.Broken(f.setup.Problem)
	}
	f.nonfinite.set(client, array, err)
}

// set notes the error of a device and its array that is not finite; empty: all are.
func (n *nonfinite) set(client int, array string, err error) {
	if array == "" && err == nil && !n.some.Load() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.some.Store(true)
	if err != nil && (n.err == nil || client < n.device) {
		n.err, n.device = err, client
	}
	if array == "" {
		delete(n.of, client)
		return
	}
	if n.of == nil {
		n.of = map[int]string{}
	}
	n.of[client] = array
}

// refuseNonFinite ends the run if the update of a device, which the server takes, is not
// finite.
func (f *Federation) refuseNonFinite(client int) {
	array := f.nonfinite.of[client]
	if array == "" || f.server.Stalled() != "" || f.setup.Config.NonFinite == federation.TakeUpdate {
		return
	}
	f.server.Stall(
		fmt.Sprintf("the update of client %d in round %d has NaN or infinities in its %s: "+
			"%s diverges (federation.nonfinite = %q takes it)", client, f.server.Rounds()+1, array, f.methodName(),
			federation.TakeUpdate))
}
