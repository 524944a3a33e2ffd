//go:build !minimal

package plots

import (
	"image/png"
	"io"

	"gonum.org/v1/plot/vg/vgimg"
)

// Extensions are those of the files of a figure.
var Extensions = []string{".png", ".svg", ".pdf"}

// Writer returns the function that writes the figure in the format of an extension.
func (pi *Picture) Writer(extension string) func(io.Writer) error {
	switch extension {
	case ".svg":
		return pi.WriteSVG
	case ".pdf":
		return pi.WritePDF
	default:
		return pi.WritePNG
	}
}

// WritePNG writes the figure as PNG, at 300 dots per inch.
func (pi *Picture) WritePNG(w io.Writer) error { return pi.writePNG(w, dpi) }

func (pi *Picture) writePNG(w io.Writer, resolution int) error {
	c := vgimg.NewWith(vgimg.UseWH(pi.width, pi.height), vgimg.UseDPI(resolution))
	pi.draw(c)
	return png.Encode(w, c.Image())
}
