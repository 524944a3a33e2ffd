//go:build !invariants

package invariants

// Enabled reports whether this build checks invariants.
const Enabled = false
