package plots

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// exponents is a text handler for tick labels that draws the text after "^" as an
// exponent. It supports single lines without rotation.
type exponents struct{ text.Plain }

const (
	exponentSize = 0.72 // relative to the font
	exponentRise = 0.42 // above the base line, relative to the font size
	centerShift  = 0.1  // of the middle of a digit above that of its line, relative to the font size
)

// parts splits txt at "^" and measures both parts.
func (ex exponents) parts(txt string, f font.Font) (base, exponent string, small font.Font, w, v vg.Length) {
	base, exponent, _ = strings.Cut(txt, "^")
	small = f
	small.Size *= exponentSize
	w, _, _ = ex.Plain.Box(base, f)
	v, _, _ = ex.Plain.Box(exponent, small)
	return base, exponent, small, w, v
}

// Box measures text like text.Plain; the exponent stays within the height of the line.
func (ex exponents) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	_, _, _, w, v := ex.parts(txt, f)
	_, height, depth = ex.Plain.Box("0", f)
	return w + v, height, depth
}

// Draw draws the base and the exponent.
func (ex exponents) Draw(c vg.Canvas, txt string, sty text.Style, at vg.Point) {
	if strings.TrimSpace(txt) == "" {
		return
	}
	base, exponent, small, w, v := ex.parts(txt, sty.Font)
	e := ex.Extents(sty.Font)
	c.SetColor(sty.Color)
	at.X += vg.Length(sty.XAlign) * (w + v)
	at.Y += vg.Length(sty.YAlign)*sty.Height(txt) - e.Ascent + sty.Font.Size
	if sty.YAlign == text.YCenter {
		at.Y -= centerShift * sty.Font.Size
	}
	c.FillString(ex.Fonts.Lookup(sty.Font, sty.Font.Size), at, base)
	if exponent != "" {
		at = at.Add(vg.Point{X: w, Y: exponentRise * sty.Font.Size})
		c.FillString(ex.Fonts.Lookup(small, small.Size), at, exponent)
	}
}
