//go:build !minimal

package plots

import (
	"fmt"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	xfont "golang.org/x/image/font"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// A PDF file has no time of writing, and its parts are in order: the same figure has the same bytes.
func init() {
	fpdf.SetDefaultCatalogSort(true)
	fpdf.SetDefaultCreationDate(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	fpdf.SetDefaultModificationDate(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

// pdfCanvas writes texts in Windows-1252, the encoding of the fonts that vgpdf embeds. Other characters are replaced
// by those of pdfText, or else by "?".
type pdfCanvas struct{ *vgpdf.Canvas }

// pdfText are the replacements of characters that Windows-1252 does not have.
var pdfText = map[rune]string{'−': "–", 'θ': "theta", '≤': "<=", '≥': ">="}

func (c pdfCanvas) FillString(face font.Face, at vg.Point, text string) {
	var plain []byte
	for _, r := range text {
		other, known := pdfText[r]
		if !known {
			other = string(r)
		}
		for _, r := range other {
			b, ok := charmap.Windows1252.EncodeRune(r)
			if !ok {
				b = '?'
			}
			plain = append(plain, b)
		}
	}
	if face.Font.Weight != xfont.WeightNormal { // vgpdf registers no font as bold, and looks for one
		face.Font.Variant, face.Font.Weight = face.Font.Variant+"Bold", xfont.WeightNormal
	}
	c.Canvas.FillString(face, at, string(plain))
}

// WritePDF writes the figure as PDF with its fonts embedded. For each font vgpdf makes temporary files, and panics if
// it cannot.
func (pi *Picture) WritePDF(w io.Writer) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case string:
			err = fmt.Errorf("%s", x)
		default:
			panic(x)
		}
	}()
	c := pdfCanvas{vgpdf.New(pi.width, pi.height)}
	pi.draw(c)
	_, err = c.WriteTo(w)
	return err
}
