// Package protocols has the protocols of fedsim, a file each: what ends a round of package federation.
// It must not know selectors, methods and scenarios.
package protocols
