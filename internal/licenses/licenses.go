// Package licenses holds the license notices of what the program is made of besides its
// own code: the Go modules that it links, Go itself, uPlot and the fonts of figures.
package licenses

import _ "embed"

// Text is a list of what is carried and under which license, and then the notices in
// full. "make licenses" writes it from the module cache.
//
//go:embed THIRD-PARTY.txt
var Text string
