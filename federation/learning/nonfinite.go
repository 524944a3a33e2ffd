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

// examine notes the error of the work of device t, and whether its update is finite.
func (f *Federation) examine(t int, err error) {
	array := ""
	if of := f.method.Inspected; of != nil && err == nil {
		update := of.Update(t)
		array = update.Broken(f.setup.Problem)
	}
	f.nonfinite.set(t, array, err)
}

// set notes the error of device t and its array that is not finite; empty: all are.
func (n *nonfinite) set(t int, array string, err error) {
	if array == "" && err == nil && !n.some.Load() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.some.Store(true)
	if err != nil && (n.err == nil || t < n.device) {
		n.err, n.device = err, t
	}
	if array == "" {
		delete(n.of, t)
		return
	}
	if n.of == nil {
		n.of = map[int]string{}
	}
	n.of[t] = array
}

// refuseNonFinite ends the run if the update of device t, which the server takes, is not
// finite.
func (f *Federation) refuseNonFinite(t int) {
	array := f.nonfinite.of[t]
	if array == "" || f.server.Stalled() != "" || f.setup.Config.NonFinite == federation.TakeUpdate {
		return
	}
	f.server.Stall(fmt.Sprintf("the update of client %d in round %d has NaN or infinities in its %s: %s diverges (federation.nonfinite = %q takes it)", t, f.server.Rounds()+1, array, f.methodName(), federation.TakeUpdate))
}
