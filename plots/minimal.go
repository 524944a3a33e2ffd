//go:build minimal

package plots

import "io"

// Extensions are those of the files of a figure. Builds with the tag minimal, which gonum/plot has, too, draw SVG
// alone: a web page makes others of it.
var Extensions = []string{".svg"}

// Writer returns the function that writes the figure in the format of an extension.
func (pi *Picture) Writer(string) func(io.Writer) error { return pi.WriteSVG }
