package browser

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fedsim/results"
	"fedsim/results/rundir"
)

// A sample of three keys beside a grid, with a target that some runs miss. The epochs have
// three values, the other sampled keys have bins.
const sampled = `
name = "sampled"
[data.synthetic]
clients = 6
features = 6
rows_min = 10
rows_max = 30
cluster_spread = 0.3
[problem]
loss = "logistic"
optimum.when = "never"
[run]
rounds = 8
seeds = [1, 2]
targets = { test_error = [0.4, 0.22] }
[methods.fedavg]
[methods.mb-sgd]
[[experiment]]
name = "sampled"
sweep = { "network.profile" = ["lte", "wifi"] }
[experiment.sample]
size = 18
ranges."methods.fedavg.options.step" = { min = 0.003, max = 3.0, scale = "log" }
ranges."methods.fedavg.options.epochs" = [1.0, 2.0, 3.0]
ranges."faults.drop_probability" = { min = 0.0, max = 0.6 }
`

// cellOf is a cell of the heat map.
type cellOf struct {
	Row, Column, Value, Text, Class string
	Runs, Reached                   int
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sampled.toml")
	if err := os.WriteFile(file, []byte(sampled), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "run")
	runFedsim(t, "run", file, "--out", dir, "--quiet")
	runFedsim(t, "report", dir)
	found, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.look(1280, false, false)
	b.open("file://" + filepath.Join(dir, rundir.ReportFile))
	b.js(`document.getElementById("sweep").open = true`)
	cells := func() []cellOf {
		t.Helper()
		return ask[[]cellOf](b, `[...document.querySelectorAll("#sweep .heat td")].map((c) => ({
			Row: c.parentElement.cells[0].textContent, Column: c.closest("table").tHead.rows[0].cells[c.cellIndex].textContent,
			Value: c.dataset.value ?? "", Text: c.textContent, Class: c.className, Runs: Number(c.dataset.runs), Reached: Number(c.dataset.reached)}))`)
	}
	pick := func(id, value string) {
		t.Helper()
		b.js(
			fmt.Sprintf(
				`const s = document.getElementById("sampled-%s"); s.value = %q; s.dispatchEvent(new Event("change"))`,
				id, value))
	}
	target := results.Target{Metric: "test_error", Value: 0.22}
	// mean returns the mean time to the target of the runs selected, the time at the end for those that did not reach
	// it.
	mean := func(selected func(*results.Run) bool) (mean float64, reached, all int) {
		for i := range found.Runs {
			r := &found.Runs[i]
			if !selected(r) {
				continue
			}
			all++
			spent, state := r.Spent(target)
			if mean += spent.TimeS; state == results.Reached {
				reached++
			}
		}
		return mean / float64(all), reached, all
	}
	pick("sweep-measure", "time to test error by rows 22 %")
	pick("heat-down", "methods.fedavg.options.step")
	pick("heat-across", "faults.drop_probability")
	total, missed := 0, 0
	for _, c := range cells() {
		total += c.Runs
		switch {
		case c.Runs == 0 && (c.Text != "no run" || c.Class != "blank"),
			c.Reached < c.Runs &&
				(!strings.HasPrefix(c.Text, "> ") ||
					!strings.Contains(c.Text, fmt.Sprintf("%d of %d reached it", c.Reached, c.Runs)) ||
					c.Class != "partly"):
			t.Errorf("a cell is %+v", c)
		}
		missed += c.Runs - c.Reached
	}
	_, reached, all := mean(func(r *results.Run) bool { return r.Method == "fedavg" })
	if total != all || missed != all-reached || missed == 0 || reached == 0 {
		t.Errorf("the heat map has %d runs, of which %d missed the target; want %d and %d, and some of both", total,
			missed, all, all-reached)
	}
	b.picture("sweep-bins")
	pick("heat-down", "methods.fedavg.options.epochs")
	pick("heat-across", "network.profile")
	pick("heat-method", "1")
	for _, c := range cells() {
		of := func(r *results.Run) bool {
			epochs, _ := r.Value("methods.fedavg.options.epochs")
			link, _ := r.Value("network.profile")
			return r.Method == "mb-sgd" && epochs == c.Row && link == c.Column
		}
		want, reached, all := mean(of)
		if got, err := strconv.ParseFloat(c.Value, 64); c.Runs != all || c.Reached != reached ||
			(err != nil || math.Abs(got-want) > 1e-12*want) {
			t.Errorf("cell %+v, want %g of %d of %d runs", c, want, reached, all)
		}
	}
	// The main effects are those of all runs, by method.
	rows := ask[[][]string](b, `[...document.querySelectorAll("#sampled-effects table")].filter((t) => `+
		`t.tHead.rows[0].cells[0].textContent === "methods.fedavg.options.epochs").flatMap((t) => `+
		`[...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent)))`)
	if len(rows) != 6 {
		t.Errorf("the table of effects has the rows %q", rows)
	}
	for _, row := range rows {
		of := func(r *results.Run) bool {
			epochs, _ := r.Value("methods.fedavg.options.epochs")
			return row[0] == epochs+", "+r.Method
		}
		want, reached, all := mean(of)
		bound := strings.HasPrefix(row[1], "> ")
		if text := strings.Fields(strings.TrimPrefix(row[1], "> ")); math.Abs(seconds(t, text)-want) > 1e-3*want ||
			bound != (reached < all) || bound && row[3] != fmt.Sprintf("%d of %d reached it", reached, all) {
			t.Errorf("effects have %q, want %g of %d of %d runs", row, want, reached, all)
		}
		if bound {
			continue
		}
		// Two standard errors, of the points of the sample as independent groups of runs.
		sums := map[string]float64{}
		for i := range found.Runs {
			if r := &found.Runs[i]; of(r) {
				if c := r.CostTo(target); c.Reached {
					point, _ := r.Value("sample")
					sums[point] += c.TimeS - want
				}
			}
		}
		squares, groups := 0.0, float64(len(sums))
		for _, d := range sums {
			squares += d * d
		}
		if twice := 2 * math.Sqrt(groups/(groups-1)*squares) / float64(reached); groups > 1 &&
			math.Abs(seconds(t, strings.Fields(strings.TrimPrefix(row[2], "± ")))-twice) > 0.06*twice {
			t.Errorf("effects have %q, want two standard errors of %g s over %g points", row, twice, groups)
		}
	}
	if n := ask[int](b, `document.querySelectorAll("#sweep svg.effect[data-axis]").length`); n != 4 {
		t.Errorf("%d drawings of main effects, want those of 4 keys", n)
	}
	if n := ask[int](b, `document.querySelectorAll("#sweep svg.effect .dot").length`); n == 0 {
		t.Error("no dot shows a run of a sampled key")
	}
	if outside := ask[[]string](b, `[...document.querySelectorAll("#sweep svg.effect")].flatMap((s) => `+
		`[...s.querySelectorAll("circle, text")].filter((x) => { const a = s.getBoundingClientRect(), `+
		`b = x.getBoundingClientRect(); return b.left < a.left - 1 || b.right > a.right + 1 || b.top < a.top - 1 || `+
		`b.bottom > a.bottom + 1; }).map((x) => s.dataset.axis + " " + x.outerHTML))`); len(outside) > 0 {
		t.Errorf("outside of their drawing are %q", outside)
	}
	b.picture("sweep")
	// By keyboard: the focus stays on a selection that changes.
	before := fmt.Sprint(cells())
	b.js(`document.getElementById("sampled-heat-down").focus()`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	if after := fmt.Sprint(cells()); after == before ||
		ask[string](b, `document.activeElement.id`) != "sampled-heat-down" {
		t.Error("the arrow keys do not change the rows of the heat map")
	}
	for _, width := range []int64{390, 1600} {
		b.look(width, width < 500, false)
		b.open("file://" + filepath.Join(dir, rundir.ReportFile))
		if wide := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("at a width of %d, the page is %v pixels wider than the window", width, wide)
		}
		b.js(`document.querySelectorAll("section, details:not(#sweep)").forEach((s) => s.remove())`)
		b.picture(fmt.Sprintf("sweep-%d", width))
	}
	if !slices.ContainsFunc(found.Runs, func(r results.Run) bool { return len(r.Point) == 5 }) {
		t.Error("the runs are not of a sample")
	}
}

// On a phone, where tables are cards, a row of a sweep names the key.
func TestSweptRowsOnAPhone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "swept.toml")
	text := "[run]\nrounds = 2\n[methods.mocha]\n[sweep]\nfaults.drop_probability = [0, 0.1]\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "run")
	runFedsim(t, "run", file, "--out", dir, "--quiet")
	runFedsim(t, "report", dir)
	b := newTab(t)
	for width, want := range map[int64]string{390: `"faults.drop_probability: "`, 1280: "none"} {
		b.look(width, width < 500, false)
		b.open("file://" + filepath.Join(dir, rundir.ReportFile))
		got := ask[string](b, `getComputedStyle(document.querySelector("th[scope=row]"), "::before").content`)
		if got != want {
			t.Errorf("at a width of %d, a row begins with %s, must begin with %s", width, got, want)
		}
	}
}

// seconds returns a time with its unit in seconds.
func seconds(t *testing.T, text []string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text[0], 64)
	if err != nil || len(text) != 2 {
		t.Fatalf("time %q", text)
	}
	return v * map[string]float64{"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}[text[1]]
}
