// Package licenses embeds the license notices of third-party software in the program:
// the Go modules that it links, Go itself, uPlot and the fonts of figures.
package licenses

import _ "embed"

// Text lists the third-party software with the license of each, followed by the complete
// notices. "make licenses" writes it from the module cache.
//
//go:embed THIRD-PARTY.txt
var Text string
