//go:build invariants

package invariants

// Enabled is whether this build checks invariants.
const Enabled = true
