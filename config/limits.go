package config

import "fmt"

// The bounds of a TOML document. What is within them takes at most seconds and some
// hundred MB to parse: the time and memory of the TOML library grow with the length
// of a file times the depth at which its values lie.
const (
	// MaxSource is the most bytes that a document may have.
	MaxSource = 1 << 20

	// maxDepth is how deep a value may lie: every list, every table and every part
	// of a dotted key around it counts. Scenarios need half of it.
	maxDepth = 16
)

var tooDeep = fmt.Sprintf("lies too deep: lists, tables and the parts of dotted keys may enclose each other at most %d deep", maxDepth)

// limits returns where the source goes deeper than that, before anything is made of it:
// a parser that meets it runs out of memory or stack. It need be right for valid TOML
// alone, since the library stops at the first fault.
func (s scanner) limits() error {
	var around []int // the depths that the open brackets add
	depth, parts, key := 0, 1, 1
	for s.offset < len(s.source) {
		switch s.source[s.offset] {
		case '"', '\'':
			s.str()
			continue
		case '#':
			s.skip(func(c byte) bool { return c != '\n' })
			continue
		case '.':
			parts++
		case '=':
			key, parts = parts, 1 // what opens next is the value of this key
		case '[', '{':
			around = append(around, key)
			depth += key
			key, parts = 1, 1
		case ']', '}':
			if n := len(around); n > 0 {
				depth -= around[n-1]
				around = around[:n-1]
			}
			key, parts = 1, 1
		case ',', '\n':
			key, parts = 1, 1
		}
		if depth+max(key, parts)-1 > maxDepth {
			return Errors{{Place: s.place(s.offset), Text: tooDeep}}
		}
		s.offset++
	}
	return nil
}
