// Package pipe speaks JSON lines with another program: one object in a line. It reads
// lines up to a limit, and decodes them strictly: each object has a table of its fields,
// and an error names the field and what would be right.
//
// It must not know what lines mean, nor the program at the other end.
package pipe
