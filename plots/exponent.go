package plots

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// exponents is a text handler that sets what follows "^" as an exponent. It
// draws single lines that are not rotated: the labels of ticks.
type exponents struct{ text.Plain }

const (
	exponentSize = 0.72 // of the font
	exponentRise = 0.42 // of the font's size, above the base line
	centreShift  = 0.1  // of the font's size: the middle of a digit lies that much above that of its line
)

// parts splits txt and measures both parts.
func (h exponents) parts(txt string, f font.Font) (base, exponent string, small font.Font, w, v vg.Length) {
	base, exponent, _ = strings.Cut(txt, "^")
	small = f
	small.Size *= exponentSize
	w, _, _ = h.Plain.Box(base, f)
	v, _, _ = h.Plain.Box(exponent, small)
	return base, exponent, small, w, v
}

// Box measures as text.Plain does; the exponent stays within the height of the line.
func (h exponents) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	_, _, _, w, v := h.parts(txt, f)
	_, height, depth = h.Plain.Box("0", f)
	return w + v, height, depth
}

// Draw draws base and exponent.
func (h exponents) Draw(c vg.Canvas, txt string, sty text.Style, at vg.Point) {
	if strings.TrimSpace(txt) == "" {
		return
	}
	base, exponent, small, w, v := h.parts(txt, sty.Font)
	e := h.Extents(sty.Font)
	c.SetColor(sty.Color)
	at.X += vg.Length(sty.XAlign) * (w + v)
	at.Y += vg.Length(sty.YAlign)*sty.Height(txt) - e.Ascent + sty.Font.Size
	if sty.YAlign == text.YCenter {
		at.Y -= centreShift * sty.Font.Size
	}
	c.FillString(h.Fonts.Lookup(sty.Font, sty.Font.Size), at, base)
	if exponent != "" {
		at = at.Add(vg.Point{X: w, Y: exponentRise * sty.Font.Size})
		c.FillString(h.Fonts.Lookup(small, small.Size), at, exponent)
	}
}
