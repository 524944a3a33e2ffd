package plots

import (
	"bytes"
	"encoding/xml"
	"flag"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

var regenerate = flag.Bool("regenerate", false, "write the golden images in testdata instead of comparing with them")

// goldenDPI is the low resolution of the golden images.
const goldenDPI = 72

// TestPictures compares figures with golden images that were inspected by eye.
func TestPictures(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.fig.File, func(t *testing.T) {
			p := expect.Value(Draw(c.fig, c.runs))(t)
			compareGolden(t, c.fig.File, p)
		})
	}
}

// compareGolden compares a figure with testdata/<name>_golden.png, which it returns. The
// last bit of floating-point results depends on the processor and moves edges by a
// fraction of a gray level. So a pixel differs if a channel differs by more than a tenth
// of its range, and one pixel in a thousand may differ.
func compareGolden(t *testing.T, name string, p *Picture) image.Image {
	t.Helper()
	got := encoded(t, p)
	golden := filepath.Join("testdata", name+"_golden.png")
	if *regenerate {
		expect.NoError(t, os.WriteFile(golden, got, 0o666))
	}
	text := expect.Value(os.ReadFile(golden))(t)
	expect.That(t, len(text) <= 60_000, "%s has %d bytes: too large for the repository", golden, len(text))
	want := decoded(t, text)
	if share := differing(decoded(t, got), want); share > 1e-3 {
		failed := filepath.Join(os.TempDir(), name+"_failed.png")
		_ = os.WriteFile(failed, got, 0o666)
		t.Errorf("%.2g of the pixels differ from %s: see %s; -regenerate accepts it", share, golden, failed)
	}
	return want
}

// encoded returns the PNG file of a figure at goldenDPI.
func encoded(t *testing.T, p *Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, p.writePNG(&b, goldenDPI))
	return b.Bytes()
}

func decoded(t *testing.T, text []byte) image.Image {
	t.Helper()
	m := expect.Value(png.Decode(bytes.NewReader(text)))(t)
	return m
}

// differing returns the fraction of pixels in which two images differ.
func differing(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	n := 0
	r := a.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			if far(r1, r2) || far(g1, g2) || far(b1, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(r.Dx()*r.Dy())
}

func far(a, b uint32) bool { return max(a, b)-min(a, b) > 0xffff/10 }

// The comparison detects a missing line.
func TestDiffering(t *testing.T) {
	fig, runs := faultFigure(), faultRuns(1)
	picture := func() image.Image {
		p := expect.Value(Draw(fig, runs))(t)
		return decoded(t, encoded(t, p))
	}
	whole := picture()
	d := differing(whole, whole)
	expect.That(t, d == 0, "an image differs from itself by %v", d)
	for i := range runs {
		if v, _ := runs[i].Value("faults.drop_probability"); v == "0.5" {
			runs[i].Rounds = nil
		}
	}
	d = differing(whole, picture())
	expect.That(t, d >= 1e-3, "a missing line differs by %v", d)
}

// The same results give the same bytes.
func TestSameBytes(t *testing.T) {
	for _, format := range []func(*Picture, io.Writer) error{
		func(p *Picture, w io.Writer) error { return p.writePNG(w, goldenDPI) }, (*Picture).WriteSVG,
		(*Picture).WritePDF,
	} {
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			p := expect.Value(Draw(methodFigure(), methodRuns(3)))(t)
			expect.NoError(t, format(p, b))
		}
		expect.That(t, first.Len() != 0 && bytes.Equal(first.Bytes(), second.Bytes()),
			"the same results gave different bytes")
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	names, err := Save(dir, methodFigure(), methodRuns(1))
	expect.NoError(t, err)
	entries, _ := os.ReadDir(dir)
	expect.Must(t, len(names) == 3 && len(entries) == 3 && names[1] == "methods.png" && names[2] == "methods.svg",
		"files %v, directory %v", names, entries)
	f, err := os.Open(filepath.Join(dir, names[1]))
	expect.NoError(t, err)
	defer f.Close()
	c, err := png.DecodeConfig(f)
	expect.That(t, err == nil && c.Width >= 1600 && c.Width <= 2000,
		"three panels are %d pixels wide, %v: want 1600 to 2000", c.Width, err)
	text, err := os.ReadFile(filepath.Join(dir, names[2]))
	expect.NoError(t, err)
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{">3G<", ">LTE<", ">WiFi<", ">MOCHA<", ">virtual time (min)<",
		">primal sub-optimality<", "Arial"} {
		n := strings.Count(string(text), want)
		expect.That(t, n != 0, "the SVG has no %s", want)
	}
	document := expect.Value(os.ReadFile(filepath.Join(dir, names[0])))(t)
	for want, n := range map[string]int{"%PDF-1": 1, "/FontFile2": 2, "/CreationDate (D:20000101000000)": 1} {
		expect.That(t, bytes.Count(document, []byte(want)) == n, "the PDF does not have %s %d times", want, n)
	}
	// The panels share the vertical axis and its label.
	if n := strings.Count(string(text), ">primal sub-optimality<"); n != 1 {
		t.Errorf("the SVG has %d labels of the vertical axis", n)
	}
}

func TestSaveFails(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, os.MkdirAll(filepath.Join(dir, "methods.png", "x"), 0o777))
	_, err := Save(dir, methodFigure(), methodRuns(1)[:4])
	expect.Must(t, err != nil, "Save replaced a directory")
	entries, _ := os.ReadDir(dir)
	expect.That(t, len(entries) == 1, "left: %v", entries)
}

func TestDrawRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*results.Figure)
		runs   []results.Run
		want   string
	}{
		{func(f *results.Figure) { f.X = "tiem" }, methodRuns(1),
			`figure "methods": x = "tiem": must be one of round, time_s, flops, bytes_down, bytes_up, energy_j`},
		{func(f *results.Figure) { f.Y = "time_s" }, methodRuns(1),
			`y = "time_s": must be one of suboptimality, primal`},
		{func(f *results.Figure) { f.YScale = "logarithmic" }, methodRuns(1),
			`y_scale = "logarithmic": must be one of linear, log`},
		{func(f *results.Figure) { f.Panel = "net" }, methodRuns(1),
			`panel = "net": no run has this key: must be one of method, network`},
		{func(f *results.Figure) { f.Series = "p" }, methodRuns(1), `series = "p": no run has this key`},
		{func(f *results.Figure) {}, nil, "there are no runs to draw"},
	} {
		fig := methodFigure()
		c.change(&fig)
		_, err := Draw(fig, c.runs)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "error %v, want %s", err, c.want)
	}
}
