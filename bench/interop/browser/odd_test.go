package browser

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedsim/results"
	"fedsim/results/rundir"
)

// Reports of unusual runs: stalled before the first round, interrupted, infinite or unknown
// objectives, markup in names, no runs, many lines.
func TestOddReports(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	row := func(round int, at, primal, suboptimality float64) results.Round {
		return results.Round{Round: round, TimeS: at, Primal: primal, Dual: nan, Gap: nan, Suboptimality: suboptimality,
			TrainError: nan, TestError: nan}
	}
	run := func(method string, seed uint64, status results.Status, rounds ...results.Round) results.Run {
		r := results.Run{
			ID: fmt.Sprintf("odd/%s/seed=%d", method, seed), Experiment: "odd", Method: method, Algorithm: "mocha",
			Seed: seed, Status: status, Reference: results.Reference{Optimum: nan, OptimumGap: nan},
			Clocked: results.Clocked{WallS: nan},
			Rounds:  rounds,
		}
		if status == results.Stalled {
			r.Reason = "no device <can> respond & \"again\""
		}
		return r
	}
	var many []results.Run
	for i := range 60 {
		many = append(many,
			run(fmt.Sprintf("m%02d", i), 1, results.Done, row(0, 0, 2, 1), row(1, 1, 1, math.Pow(0.9, float64(i)))))
	}
	for name, runs := range map[string][]results.Run{
		"none":    nil,
		"stalled": {run("a", 1, results.Stalled, row(0, 0, 1, 1))},
		"interrupted": {run("a", 1, results.Done, row(0, 0, 2, 1), row(1, 3, 1, 0)),
			run("a", math.MaxUint64, results.Interrupted, row(0, 0, 2, 1))},
		"unknown": {run("a", 1, results.Done, row(0, 0, nan, nan), row(1, 1, nan, nan))},
		"infinite": {run("a", 1, results.Done, row(0, 0, inf, inf), row(1, 1, inf, inf)),
			run("b", 1, results.Done, row(0, 0, 2, 0), row(1, 1, 1, -1))},
		"marks": {run("<img src=x onerror=alert(1)>&'\"\\`${1}", 1, results.Done, row(0, 0, 2, 1),
			row(1, 1, 1, 0.5))},
		"many": many,
	} {
		t.Run(name, func(t *testing.T) {
			dir := odd(t, runs)
			runFedsim(t, "report", dir)
			b := newTab(t)
			b.look(1280, false, false)
			b.open("file://" + filepath.Join(dir, rundir.ReportFile))
			if note := ask[string](b, `document.getElementById("foot").textContent`); note != "" {
				t.Errorf("the page has the note %q", note)
			}
			if wide := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				t.Errorf("the page is %v pixels wider than the window", wide)
			}
			if n := ask[int](b, `document.querySelectorAll("img").length`); n != 0 {
				t.Errorf("a name became %d elements", n)
			}
			if ran := ask[string](b, `document.querySelector(".ran").textContent`); !strings.Contains(ran, "2 seeds") {
				t.Errorf("the page has %q", ran)
			}
			if len(runs) == 0 {
				return
			}
			if n := ask[int](b, `document.querySelectorAll("#results .legend button").length`); name == "many" &&
				n != 60 {
				t.Errorf("%d lines in the legend, must be 60", n)
			}
			b.readings("#results", 0.5, 0.5)
			b.js(`document.getElementById("energy").open = true`)
			b.js(`document.querySelector("#energy .chart").scrollIntoView()`)
			b.until(`document.querySelector("#energy .frame").textContent.startsWith("There are no values")`)
			b.js(`const y = document.getElementById("odd-curves-y"); y.selectedIndex = y.options.length - 1; ` +
				`y.dispatchEvent(new Event("change"))`)
			b.js(`document.getElementById("odd-curves-x-log").click()`)
			b.until(`document.querySelector("#results .frame").childElementCount > 0`)
			b.picture("odd-" + name)
		})
	}
}

// odd writes a run directory with runs, which the scenario may not define.
func odd(t *testing.T, runs []results.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "odd")
	w, err := rundir.Create(dir, false, rundir.About{
		Version: "test", Scenario: []byte("name = \"odd\"\n[methods.mocha]\n[[experiment]]\nname = \"odd\"\n"),
		Seeds: []uint64{1, math.MaxUint64}, Targets: results.ToSuboptimalities(0.1), Started: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	for i := range runs {
		if rows, err := w.Begin(i, runs[i]); err != nil || rows.End(runs[i]) != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(rundir.Incomplete, rundir.End{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return dir
}
