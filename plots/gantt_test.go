package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dayGantt shows every kind of bar and mark, an update of the coupling that takes
// time and one that takes none.
func dayGantt() Gantt {
	g := Gantt{
		Title: "MOCHA, outage = from 5 s to 25 s, seed 1", From: 0, To: 12,
		Updates: []GanttSpan{{8, 9}, {12, 12}},
		Marks:   []string{"dropped", "message lost", "went away", "battery empty", "out of time", "no time to work"},
	}
	for h := range 3 {
		from := float64(4 * h)
		if h == 2 {
			from++
		}
		g.Rounds = append(g.Rounds, GanttRound{h + 1, GanttSpan{from, float64(4*h) + 4}})
	}
	for k := range 7 {
		row := GanttRow{Name: fmt.Sprint(143 * k)}
		for _, r := range g.Rounds {
			at := r.From
			for a, length := range []float64{0.3, 1 + 0.1*float64(k), 0.5, 0.4} {
				row.Bars = append(row.Bars, GanttBar{Activity(a), GanttSpan{at, at + length}})
				at += length
			}
			last := Unavailable
			if k%2 == 0 {
				last = Depleted
			}
			row.Bars = append(row.Bars, GanttBar{last, GanttSpan{at, r.To}})
		}
		if k < len(g.Marks) {
			row.Marks = append(row.Marks, GanttMark{k, 0.5 * float64(k+1)}, GanttMark{k, 5})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// drawn returns the picture of a figure at a resolution.
func drawn(t *testing.T, g Gantt, dpi int) []byte {
	t.Helper()
	p, err := DrawGantt(g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.writePNG(&b, dpi); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGanttPicture(t *testing.T) {
	got := drawn(t, dayGantt(), goldenDPI)
	golden := filepath.Join("testdata", "gantt_golden.png")
	if *regenerate {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	have, want := decoded(t, got), decoded(t, text)
	if share := differing(have, want); share > 1e-3 {
		t.Errorf("%.2g of the pixels differ from %s; -regenerate if it is right", share, golden)
	}
	g := dayGantt()
	g.Rows[3].Bars[1].To += 0.5
	if share := differing(decoded(t, drawn(t, g, goldenDPI)), want); share < 1e-4 {
		t.Errorf("a longer bar differs by %v", share)
	}
	if again := drawn(t, dayGantt(), goldenDPI); !bytes.Equal(again, got) {
		t.Error("the same figure makes other bytes")
	}
}

func decoded(t *testing.T, text []byte) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Bars as high as each other are told apart in grey: their lightness differs by at
// least a sixth of the range, from that of the bands behind them too.
func TestBarsDifferInGrey(t *testing.T) {
	grey := func(c color.Color) float64 { return float64(color.GrayModel.Convert(c).(color.Gray).Y) / 255 }
	for a := range bars {
		for b := range a {
			if d := math.Abs(grey(bars[a].fill) - grey(bars[b].fill)); bars[a].height == bars[b].height && bars[a].rim == bars[b].rim && d < 1.0/6 {
				t.Errorf("%s and %s differ by %.2f", bars[a].name, bars[b].name, d)
			}
		}
		if d := math.Abs(grey(bars[a].fill) - grey(roundBand)); !bars[a].rim && d < 1.0/6 {
			t.Errorf("%s and the bands differ by %.2f", bars[a].name, d)
		}
	}
}

// The legend lists what occurs and nothing else.
func TestGanttLegend(t *testing.T) {
	g := dayGantt()
	g.Rows = g.Rows[:1]
	g.Updates = nil
	p, err := DrawGantt(g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"downlink", "compute", "uplink", "wait", "flat", "dropped", "round 1", "round 3", "virtual time (s)", "device", "MOCHA, outage = from 5 s to 25 s, seed 1"} {
		if !strings.Contains(text, ">"+want+"<") {
			t.Errorf("there is no %q", want)
		}
	}
	for _, not := range []string{"away", "message lost", "Omega update"} {
		if strings.Contains(text, ">"+not+"<") {
			t.Errorf("there is %q", not)
		}
	}
}

// Bars that no dot could show are left out, so that a long range makes no huge file.
func TestGanttIsBounded(t *testing.T) {
	g := Gantt{From: 0, To: 1, Rows: []GanttRow{{Name: "0"}}}
	const n = 200_000
	for i := range n {
		g.Rows[0].Bars = append(g.Rows[0].Bars, GanttBar{Activity(i % 3), GanttSpan{float64(i) / n, float64(i+1) / n}})
		g.Rounds = append(g.Rounds, GanttRound{i + 1, GanttSpan{float64(i) / n, float64(i+1) / n}})
	}
	p, err := DrawGantt(g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1_000_000 {
		t.Errorf("%d bytes", b.Len())
	}
}

func TestGanttErrors(t *testing.T) {
	for want, change := range map[string]func(*Gantt){
		"0 rows: must be between 1 and 30":             func(g *Gantt) { g.Rows = nil },
		"31 rows: must be between 1 and 30":            func(g *Gantt) { g.Rows = make([]GanttRow, 31) },
		"from 2 s to 2 s: must be a span of time":      func(g *Gantt) { g.From, g.To = 2, 2 },
		"from NaN s to 12 s: must be a span of time":   func(g *Gantt) { g.From = math.NaN() },
		"8 kinds of marks: must be at most 7":          func(g *Gantt) { g.Marks = make([]string, 8) },
		`row "0" has activity 6: must be below 6`:      func(g *Gantt) { g.Rows[0].Bars[0].Activity = 6 },
		`row "0" has a mark of kind 6: must be one of`: func(g *Gantt) { g.Rows[0].Marks[0].Kind = 6 },
	} {
		g := dayGantt()
		change(&g)
		if _, err := DrawGantt(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: must say %q", err, want)
		}
	}
}
