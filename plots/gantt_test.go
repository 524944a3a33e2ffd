package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"
)

// dayGantt has every kind of bar and mark, and updates of the coupling with and without
// duration.
func dayGantt() Gantt {
	g := Gantt{
		Title: "MOCHA, outage = from 5 s to 25 s, seed 1", From: 0, To: 12,
		Updates: []GanttSpan{{8, 9}, {12, 12}},
		Marks:   []string{"dropped", "message lost", "unavailable", "depleted", "late", "no time to work"},
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

// ganttPicture returns the picture of a Gantt figure.
func ganttPicture(t *testing.T, g Gantt) *Picture {
	t.Helper()
	p, err := DrawGantt(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGanttPicture(t *testing.T) {
	want := compareGolden(t, "gantt", ganttPicture(t, dayGantt()))
	g := dayGantt()
	g.Rows[3].Bars[1].To += 0.5
	if share := differing(decoded(t, encoded(t, ganttPicture(t, g))), want); share < 1e-4 {
		t.Errorf("a longer bar differs by %v", share)
	}
}

// In grayscale, the lightness of bars with the same height differs by at least a sixth of
// the range, also from that of the bands behind them.
func TestBarsInGrayscale(t *testing.T) {
	gray := func(c color.Color) float64 { return float64(color.GrayModel.Convert(c).(color.Gray).Y) / 255 }
	for a := range bars {
		for b := range a {
			if d := math.Abs(gray(bars[a].fill) - gray(bars[b].fill)); bars[a].height == bars[b].height && bars[a].rim == bars[b].rim && d < 1.0/6 {
				t.Errorf("%s and %s differ by %.2f", bars[a].name, bars[b].name, d)
			}
		}
		if d := math.Abs(gray(bars[a].fill) - gray(roundBand)); !bars[a].rim && d < 1.0/6 {
			t.Errorf("%s and the bands differ by %.2f", bars[a].name, d)
		}
	}
}

// The legend lists the activities and marks that occur.
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
	for _, want := range []string{"downlink", "compute", "uplink", "wait", "depleted", "dropped", "round 1", "round 3", "virtual time (s)", "device", "MOCHA, outage = from 5 s to 25 s, seed 1"} {
		if !strings.Contains(text, ">"+want+"<") {
			t.Errorf("%q is missing", want)
		}
	}
	for _, not := range []string{"unavailable", "message lost", "Omega update"} {
		if strings.Contains(text, ">"+not+"<") {
			t.Errorf("%q is present", not)
		}
	}
}

// Invisible bars are skipped, which bounds the size of the file.
func TestGanttSize(t *testing.T) {
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
		`row "0" has activity 7: must be below 7`:      func(g *Gantt) { g.Rows[0].Bars[0].Activity = 7 },
		`row "0" has a mark of kind 6: must be one of`: func(g *Gantt) { g.Rows[0].Marks[0].Kind = 6 },
	} {
		g := dayGantt()
		change(&g)
		if _, err := DrawGantt(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: must say %q", err, want)
		}
	}
}
