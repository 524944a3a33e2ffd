package config

import "fmt"

// The bounds of a TOML document. A document within them takes at most seconds and some
// hundred MB to parse: the time and memory of the TOML library grow with the length
// of a file times the depth of its values.
const (
	// MaxSource is the most bytes that a document may have.
	MaxSource = 1 << 20

	// maxDepth is how deep a value may lie below its header: every list, every inline
	// table and every part of a dotted key around it counts. Scenarios need half of it.
	maxDepth = 16
)

var tooDeep = fmt.Sprintf(
	"lies too deep: lists, tables and the parts of dotted keys may enclose each other at most %d deep", maxDepth)
