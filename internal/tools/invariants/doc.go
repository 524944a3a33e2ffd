// Package invariants says whether this build checks invariants: the clock never moves
// back, energy is never negative, weak duality holds. The build tag invariants enables
// the checks (go test -tags invariants ./...). Without it the compiler removes them:
//
//	if invariants.Enabled && event.At < now {
//		panic("engine: the clock moves back")
//	}
//
// It must not know the invariants themselves.
package invariants
