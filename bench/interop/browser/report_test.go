package browser

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fedsim/results"
	"fedsim/results/rundir"
)

const scenario = `
name = "links"
description = "A page with all sections"
[data.synthetic]
clients = 9
features = 6
rows_min = 10
rows_max = 30
[faults]
drop_phase = "uniform"
[run]
targets = { suboptimality = [1e-1, 1e-2, 1e-3] }
rounds = 40
seeds = [1, 2]
devices = true
client_metrics = ["error", "loss"]
[fleet]
name = "phones-2017"
[methods.mocha]
[methods.cocoa]
[methods.mb-sgd]
[[experiment]]
name = "links"
sweep = { "faults.drop_probability" = [0.0, 0.3] }
[experiment.figure]
title = "Links"
panel = "faults.drop_probability"
series = "method"
[[experiment]]
name = "alone"
methods = ["mocha"]
set = { "run.seeds" = [3] }
`

// example runs the scenario and writes its page.
func example(t *testing.T) (dir, url string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "example.toml")
	if err := os.WriteFile(file, []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "run")
	runFedsim(t, "run", file, "--out", dir, "--quiet")
	runFedsim(t, "report", dir)
	return dir, "file://" + filepath.Join(dir, rundir.ReportFile)
}

// open opens a page and waits for its sections.
func (ta *tab) open(url string) {
	ta.t.Helper()
	ta.do(chromedp.Navigate(url))
	ta.until(`document.querySelector("#reproduce")`)
}

// reading is the value of a line at the cursor.
type reading struct {
	Line, X, Y, Round string
	Shown             string
}

// readings moves the mouse to a relative position in the first chart of an element and
// returns the values at the cursor.
func (ta *tab) readings(element string, across, up float64) []reading {
	ta.t.Helper()
	ta.js(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, element+" .chart"))
	ta.until(fmt.Sprintf(`document.querySelector(%q)`, element+" .u-over"))
	box := ask[map[string]float64](ta,
		fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return {left: r.left, `+
			`top: r.top, width: r.width, height: r.height}; })()`, element+" .u-over"))
	ta.do(chromedp.MouseEvent(chromedp.MouseMoved, box["left"]+across*box["width"], box["top"]+(1-up)*box["height"]))
	ta.until(fmt.Sprintf(`!document.querySelector(%q).hidden`, element+" .readout"))
	if over := ask[float64](ta,
		fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom - `+
			`document.querySelector(%q).getBoundingClientRect().top`, element+" .u-over",
			element+" .readout")); over > 0 {
		ta.t.Errorf("%s: the values at the cursor cover %v pixels of the curves", element, over)
	}
	return ask[[]reading](ta,
		fmt.Sprintf(`[...document.querySelectorAll(%q)].map((r) => ({Line: r.dataset.line, X: r.dataset.x, Y: `+
			`r.dataset.y, Round: r.dataset.round, Shown: r.cells[2].textContent}))`, element+" .readout tbody tr"))
}

// A page with sweeps, seeds, a fleet and rows by device has all sections and curves: light,
// dark and on a phone.
func TestReportSections(t *testing.T) {
	_, url := example(t)
	b := newTab(t)
	for _, c := range []struct {
		name        string
		width       int64
		dark, phone bool
		light       bool // background of the page
	}{{"light", 1280, false, false, true}, {"dark", 1280, true, false, false}, {"phone", 390, false, true, true}} {
		b.look(c.width, c.dark, c.phone)
		b.open(url)
		order := ask[[]string](b, `[...document.querySelectorAll("#main > [id]")].map((e) => e.id)`)
		if want := []string{"contents", "results", "time", "devices", "left", "sweep", "energy", "tables", "runs",
			"scenario", "reproduce", "made"}; !slices.Equal(order, want) {
			t.Errorf("%s: the order is %q, must be %q", c.name, order, want)
		}
		if silent := ask[[]string](b, `[...document.querySelectorAll("#main > details")].filter((d) => `+
			`!d.querySelector(".answer").textContent).map((d) => d.id)`); len(silent) > 0 {
			t.Errorf("%s: there is no answer in the summary of %q", c.name, silent)
		}
		if most, top := map[bool]float64{true: 380, false: 245}[c.phone], ask[float64](b,
			`document.querySelector("#results .frame").getBoundingClientRect().top`); top > most {
			t.Errorf("%s: the figure begins %v pixels below the top, at most %v", c.name, top, most)
		}
		b.narrow(c.name, c.width)
		b.js(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
		b.narrow(c.name+", unfolded", c.width)
		// A tab shows one experiment, in all sections.
		shown := func() string {
			return ask[string](b, `[...new Set([...document.querySelectorAll(".experiment")].filter((e) => `+
				`!e.hidden).map((e) => e.dataset.of))].join()`)
		}
		if first := shown(); first != "0" {
			t.Errorf("%s: at first the experiments %s are shown", c.name, first)
		}
		b.do(chromedp.Click(chromedp.CSS("[data-tab='1']")))
		if second := shown(); second != "1" {
			t.Errorf("%s: the second tab shows the experiments %s", c.name, second)
		}
		b.js(`document.querySelectorAll(".experiment").forEach((e) => { e.hidden = false; })`)
		b.js(`scrollTo(0, document.body.scrollHeight)`)
		for i := range ask[int](b, `document.querySelectorAll("#main .chart").length`) {
			b.js(fmt.Sprintf(`document.querySelectorAll("#main .chart")[%d].scrollIntoView()`, i))
			b.until(fmt.Sprintf(`document.querySelectorAll("#main .chart")[%d].querySelector("canvas") !== null`, i))
		}
		if n := ask[int](b, `document.querySelectorAll("canvas").length`); n < 7 {
			t.Errorf("%s: has %d charts, must have those of two experiments, by time and by energy, and two of rounds",
				c.name, n)
		}
		if n := ask[int](b, `document.querySelectorAll("#tables .best").length`); n == 0 {
			t.Errorf("%s: no best is marked", c.name)
		}
		if empty := ask[string](b,
			`[...document.querySelectorAll("#results table, #runs table, #devices table, #tables table, #left table, #energy table")].flatMap((t) => {
			const rows = [...t.querySelectorAll("tbody tr:not(.title, .note)")].map((r) => [...r.cells].map((c) => c.textContent));
			return rows[0].map((_, i) => i).filter((i) => i > 0 && rows.every((r) => ["", "–", "-"].includes(r[i]))).map((i) => (t.closest("section") || t.closest("details")).id + " column " + i);
		}).join(", ")`); empty != "" {
			t.Errorf("%s: empty are %s", c.name, empty)
		}
		if blank := ask[int](b, `[...document.querySelectorAll("canvas")].filter((c) => {
			const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			let colored = 0;
			for (let i = 0; i < p.length; i += 4) if (p[i + 3] > 100 && Math.max(p[i], p[i + 1], p[i + 2]) - Math.min(p[i], p[i + 1], p[i + 2]) > 60) colored++;
			return colored < 100;
		}).length`); blank != 0 {
			t.Errorf("%s: %d charts have no curve", c.name, blank)
		}
		paper := ask[string](b, `getComputedStyle(document.body).backgroundColor`)
		if light := paper == "rgb(255, 255, 255)"; light != c.light {
			t.Errorf("%s: the background is %s", c.name, paper)
		}
		b.picture("report-" + c.name)
	}
}

// The values at the cursor equal those of the run directory, bit for bit: for a single run
// and for the runs of two seeds.
func TestReadings(t *testing.T) {
	dir, url := example(t)
	found, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.look(1280, false, false)
	b.open(url)
	check := func(experiment string, r reading, y func(*results.Round) float64) {
		t.Helper()
		for i := range found.Runs {
			run := &found.Runs[i]
			line := run.Method
			if experiment == "links" {
				line = fmt.Sprintf("%s, seed %d", run.Method, run.Seed)
				if v, _ := run.Value("faults.drop_probability"); v != "0" {
					continue
				}
			}
			if run.Experiment != experiment || line != r.Line {
				continue
			}
			for j := range run.Rounds {
				x := &run.Rounds[j]
				if strconv.Itoa(x.Round) != r.Round {
					continue
				}
				if strconv.FormatFloat(x.TimeS, 'g', -1, 64) != number(r.X) ||
					strconv.FormatFloat(y(x), 'g', -1, 64) != number(r.Y) {
					t.Errorf("%s: round %s of %s is at (%s, %s), must be at (%v, %v)", experiment, r.Round, r.Line, r.X,
						r.Y, x.TimeS, y(x))
				}
				return
			}
		}
		t.Errorf("%s: there is no round %q of %q", experiment, r.Round, r.Line)
	}
	suboptimality := func(r *results.Round) float64 { return r.Suboptimality }
	rounds := map[string]bool{}
	alone := ".experiment[data-of='1']"
	b.do(chromedp.Click(chromedp.CSS("[data-tab='1']")))
	for _, across := range []float64{0, 0.1, 0.5, 0.99} {
		for _, r := range b.readings("#results "+alone, across, 0.5) {
			check("alone", r, suboptimality)
			rounds[r.Round] = true
			if v, _ := strconv.ParseFloat(r.Y, 64); !strings.HasPrefix(r.Shown, leading(v)) {
				t.Errorf("%s is displayed for %s", r.Shown, r.Y)
			}
		}
	}
	if len(rounds) < 4 {
		t.Errorf("rounds %v at four positions: must be four", rounds)
	}
	// Another quantity.
	b.choose("alone-curves-y", "primal")
	for _, r := range b.readings("#results "+alone, 0.3, 0.5) {
		check("alone", r, func(r *results.Round) float64 { return r.Primal })
	}
	// A count holds during its round.
	b.choose("alone-curves-y", "participants")
	for _, r := range b.readings("#results "+alone, 0.3, 0.5) {
		run := &found.Runs[slices.IndexFunc(found.Runs, func(x results.Run) bool { return x.Experiment == "alone" })]
		h, _ := strconv.Atoi(r.Round)
		if h < 2 || number(r.X) != strconv.FormatFloat(run.Rounds[h-1].TimeS, 'g', -1, 64) ||
			number(r.Y) != strconv.Itoa(run.Rounds[h].Participants) {
			t.Errorf("round %s begins at %s with %s responses, must at the end of the round before with %d", r.Round,
				r.X, r.Y, run.Rounds[h].Participants)
		}
	}
	// A line per seed.
	b.do(chromedp.Click(chromedp.CSS("[data-tab='0']")))
	b.choose("links-curves-band", "each")
	read := b.readings("#results .experiment[data-of='0']", 0.4, 0.5)
	if len(read) != 6 {
		t.Errorf("%d lines, must be three methods with two seeds", len(read))
	}
	for _, r := range read {
		check("links", r, suboptimality)
	}
	// The heat map contains numbers of the summary.
	heat := ask[[]string](b, `[...document.querySelectorAll("#sweep td[data-value]")].map((c) => c.dataset.value)`)
	var want []string
	for _, e := range results.Summarize(found.Runs, found.Manifest.Targets).Experiments {
		for _, block := range e.Blocks {
			for _, row := range block.Rows {
				for _, cell := range row.Cells {
					want = append(want, strconv.FormatFloat(cell.TimeS, 'g', -1, 64),
						strconv.FormatFloat(cell.AtLeast.TimeS, 'g', -1, 64))
				}
			}
		}
	}
	for _, v := range heat {
		if !strings.Contains(" "+strings.Join(want, " ")+" ", " "+number(v)+" ") {
			t.Errorf("the heat map has %s, which the summary does not", v)
		}
	}
	if len(heat) == 0 {
		t.Error("the heat map is empty")
	}
}

// number formats a number of the page like Go.
func number(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// leading returns the first displayed digits of a value.
func leading(v float64) string {
	if v >= 1e-3 {
		return strconv.FormatFloat(v, 'g', 6, 64)[:4]
	}
	return strconv.FormatFloat(v, 'e', 5, 64)[:4]
}

// Zooming by mouse, button and keyboard, hiding a line, changing axes and colors, printing.
func TestInteraction(t *testing.T) {
	_, url := example(t)
	b := newTab(t)
	b.look(1280, false, false)
	b.open(url)
	const chart = "#results .chart"
	leftmost := func() float64 { // first x at the cursor
		t.Helper()
		v, err := strconv.ParseFloat(b.readings("#results", 0, 0.5)[0].X, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// highest returns the relative distance of the highest line from the top.
	highest := func(across float64) float64 {
		b.readings("#results", across, 0.5)
		return ask[float64](b, `(() => {
			const over = document.querySelector("#results .u-over"), box = over.getBoundingClientRect();
			return Math.min(...[...over.querySelectorAll(".u-cursor-pt")].map((p) => p.getBoundingClientRect()).filter((r) => r.width > 0 && r.top > box.top - 50).map((r) => (r.top + r.height / 2 - box.top) / box.height));
		})()`)
	}
	start, before := leftmost(), highest(0.4)
	box := ask[map[string]float64](b,
		`(() => { const r = document.querySelector("#results .u-over").getBoundingClientRect(); return {left: r.left, `+
			`top: r.top, width: r.width, height: r.height}; })()`)
	at := func(kind input.DispatchMouseEventType, share float64) chromedp.Action[chromedp.Void] {
		return chromedp.MouseEvent(kind, box["left"]+share*box["width"], box["top"]+box["height"]/2,
			chromedp.ButtonLeft)
	}
	b.do(at(chromedp.MousePressed, 0.4), at(chromedp.MouseMoved, 0.5), at(chromedp.MouseMoved, 0.6),
		at(chromedp.MouseReleased, 0.6))
	if zoomed := leftmost(); zoomed <= start {
		t.Errorf("after a drag the first x is %v, before %v", zoomed, start)
	}
	// The vertical axis fits the selected part, in which the lines fall.
	if after := highest(0.01); after > 0.25 || after > before-0.1 {
		t.Errorf("after a drag the highest line starts %v below the top, before %v", after, before)
	}
	b.do(chromedp.Click(chromedp.CSS(chart + " .zoom button[title='Show all']")))
	if again := leftmost(); again != start {
		t.Errorf("after Show all the first x is %v, before %v", again, start)
	}
	b.readings("#results", 0.5, 0.5)
	b.do(chromedp.Focus(chromedp.CSS("#results .frame")), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	if zoomed := leftmost(); zoomed <= start {
		t.Errorf("after + the first x is %v, before %v", zoomed, start)
	}
	b.picture("report-zoomed")
	b.do(chromedp.KeyEvent("0"), chromedp.KeyEvent(kb.End))
	last := ask[string](b, `document.querySelector("#results .readout tr[data-x]").dataset.x`)
	b.do(chromedp.KeyEvent(kb.Home))
	if first := ask[string](b, `document.querySelector("#results .readout tr[data-x]").dataset.x`); first == last {
		t.Errorf("Home and End both lead to %s", first)
	}
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Escape))
	b.until(`document.querySelector("#results .readout").hidden`)

	lines := func() int { return len(b.readings("#results", 0.5, 0.5)) }
	if n := lines(); n != 3 {
		t.Errorf("%d lines, must be 3", n)
	}
	b.do(chromedp.Focus(chromedp.CSS("#links-curves-line-1")), chromedp.KeyEvent(kb.Enter))
	if n := lines(); n != 2 {
		t.Errorf("%d lines with one hidden, must be 2", n)
	}
	if got := ask[string](b,
		`document.activeElement.id + document.activeElement.getAttribute("aria-pressed")`); got !=
		"links-curves-line-1false" {
		t.Errorf("%s has the focus", got)
	}
	b.do(chromedp.Click(chromedp.CSS("#links-curves-x-log")))
	b.until(`document.querySelector("#results .u-over") !== null`)
	if n := lines(); n != 2 {
		t.Errorf("%d lines on a logarithmic axis, must be 2", n)
	}
	// The dark theme preserves all selections.
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	if paper := ask[string](b, `getComputedStyle(document.body).backgroundColor`); paper == "rgb(255, 255, 255)" {
		t.Errorf("the background of the dark theme is %s", paper)
	}
	if n := lines(); n != 2 || !ask[bool](b, `document.getElementById("links-curves-x-log").checked`) {
		t.Errorf("%d lines after the change of theme, must be 2 on a logarithmic axis", n)
	}
	b.picture("report-used")

	b = newTab(t) // without emulated media
	b.open(url)
	b.print()
}

// For any zoom, axes have at least two labels and not too many ticks, in order and within
// the limits.
func TestAxes(t *testing.T) {
	b := newTab(t)
	source := ""
	for _, name := range []string{"words", "lines", "chart"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "rooms", "report", "page", name+".js"))
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	b.js(source + "globalThis.of = {Chart, decades, evenly, few, plainUnit, ticks};")
	draw := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		low := math.Pow(10, 20*draw.Float64()-15)
		high := low * math.Pow(10, 3*math.Pow(draw.Float64(), 3)+1e-3)
		axis := ask[struct {
			At     []float64
			Labels []string
		}](b,
			fmt.Sprintf(`(() => { const {decades, evenly, few, plainUnit, ticks} = of, low = %g, high = %g, `+
				`at = (few(low, high) ? evenly : decades)(low, high); return {At: at, Labels: ticks(at, plainUnit, `+
				`!few(low, high)).filter((l) => l !== "")}; })()`, low, high))
		if n := len(axis.Labels); n < 2 || n > 12 {
			t.Errorf("from %g to %g there are labels %q", low, high, axis.Labels)
		}
		if len(axis.At) == 0 || !slices.IsSorted(axis.At) || axis.At[0] < low || axis.At[len(axis.At)-1] > high {
			t.Errorf("from %g to %g there are ticks %v", low, high, axis.At)
		}
	}
	// The axis of areas starts at zero, that of lines at their values.
	window := func(fill bool) []float64 {
		t.Helper()
		return ask[[]float64](b,
			fmt.Sprintf(
				`of.Chart.prototype.window.call({x: {}, y: {}, shown: [{x: [1, 2], y: [150, 151], fill: %t}]}).y`,
				fill))
	}
	if area, line := window(true), window(false); area[0] != 0 || line[0] < 140 {
		t.Errorf("the axis of an area starts at %v, that of a line at %v", area, line)
	}
}

// The page of 50 runs with 500 rounds of random numbers is below 3 MB. The test logs the
// time to the first curve.
func TestLargeReport(t *testing.T) {
	if fedsim == "" {
		t.Skip("needs Chromium: make test-browser installs it")
	}
	dir := large(t, 50, 500)
	file := filepath.Join(t.TempDir(), "large.html")
	runFedsim(t, "report", dir, "-o", file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the page has %d bytes", info.Size())
	if info.Size() >= 3e6 {
		t.Errorf("the page has %d bytes, must have less than 3 MB", info.Size())
	}
	for range 3 {
		b := newTab(t)
		b.open("file://" + file)
		b.js(`document.getElementById("results").scrollIntoView()`) // charts are drawn when they are near
		b.until(`performance.getEntriesByName("first-curve").length > 0`)
		t.Logf("first curve after %.0f ms", ask[float64](b, `performance.getEntriesByName("first-curve")[0].startTime`))
		if n := ask[int](b, `document.querySelectorAll("#results .legend button").length`); n != 10 {
			t.Errorf("%d lines, must be 10", n)
		}
	}
}

// large writes a run directory with five seeds per method.
func large(t *testing.T, runs, rounds int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "large")
	text := "name = \"large\"\n[run]\nseeds = [1, 2, 3, 4, 5]\n"
	for m := range runs / 5 {
		text += fmt.Sprintf("[methods.m%d]\nalgorithm = \"mocha\"\n", m)
	}
	text += "[[experiment]]\nname = \"large\"\n"
	w, err := rundir.Create(dir, false,
		rundir.About{Version: "test", Scenario: []byte(text), Seeds: []uint64{1, 2, 3, 4, 5},
			Targets: results.ToSuboptimalities(0.1, 0.01), Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range runs {
		method := fmt.Sprintf("m%d", i/5)
		run := results.Run{
			ID: fmt.Sprintf("large/%s/seed=%d", method, i%5+1), Experiment: "large", Method: method, Algorithm: "mocha",
			Seed: uint64(i%5 + 1), Status: results.Done, Reference: results.Reference{Optimum: 1, OptimumGap: 1e-9},
			Clocked: results.Clocked{WallS: 1},
		}
		at := 0.0
		for h := range rounds + 1 {
			s := math.Exp(-float64(h)/80) * (1 + 0.1*random.Float64())
			x := results.Round{Round: h, TimeS: at, Primal: 1 + s, Dual: -1 + s*random.Float64(), Suboptimality: s,
				TrainError: random.Float64(), TestError: random.Float64()}
			x.Gap = x.Primal + x.Dual
			if h > 0 {
				x.Participants, x.Dropped, x.Late = 80+random.IntN(20), random.IntN(10), random.IntN(10)
				x.FLOPs, x.BytesDown, x.BytesUp, x.EnergyJ = float64(random.IntN(1e9)), 5e4, 5e4, random.Float64()
			}
			run.Rounds = append(run.Rounds, x)
			at += 1 + random.Float64()
		}
		if rows, err := w.Begin(i, run); err != nil || rows.End(run) != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(rundir.Complete, rundir.End{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// narrow requires that the page is no wider than its window, at its width and at that of small telephones, and that no
// table of a telephone scrolls.
func (ta *tab) narrow(name string, width int64) {
	ta.t.Helper()
	for _, w := range []int64{width, 500, 360} {
		ta.do(chromedp.EmulateViewport(w, 900, chromedp.EmulateScale(1)))
		if wide := ask[float64](ta, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			ta.t.Errorf("%s: at %d pixels the page is %v pixels wider than the window", name, w, wide)
		}
		if cut := ask[[]string](ta, `[...document.querySelectorAll(".wide")].filter((e) => e.scrollWidth > `+
			`e.clientWidth + 1).map((e) => e.ariaLabel)`); len(cut) > 0 && (w <= 500 || w >= 1280) {
			ta.t.Errorf("%s: at %d pixels these tables are cut: %q", name, w, cut)
		}
	}
	ta.do(chromedp.EmulateViewport(width, 900, chromedp.EmulateScale(1)))
}

// choose selects an option.
func (ta *tab) choose(id, value string) {
	ta.t.Helper()
	ta.js(fmt.Sprintf(`const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event("change"))`, id,
		value))
}

// print prints the page and requires at least three pages.
func (ta *tab) print() {
	ta.t.Helper()
	pdf, err := chromedp.Run(ta.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	if err != nil {
		ta.t.Fatal(err)
	}
	if pages := strings.Count(string(pdf), "/Type /Page\n"); pages < 3 {
		ta.t.Errorf("%d printed pages, must be at least 3", pages)
	}
	if *pictures != "" {
		if err := os.WriteFile(filepath.Join(*pictures, "report.pdf"), pdf, 0o666); err != nil {
			ta.t.Fatal(err)
		}
	}
}
