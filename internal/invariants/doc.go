// Package invariants says whether this build checks what must always hold: the
// clock never goes back, energy is never negative, weak duality. The checks are
// compiled in by the build tag invariants (go test -tags invariants ./...) and
// vanish without it:
//
//	if invariants.Enabled && event.At < now {
//		panic("engine: the clock went back")
//	}
//
// It must not know what is checked.
package invariants
