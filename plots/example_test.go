package plots_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Read a run directory and draw its default figure.
func ExampleSave() {
	temporary, err := os.MkdirTemp("", "plots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temporary)

	found, err := rundir.Read(finishedRun(filepath.Join(temporary, "run")))
	if err != nil {
		log.Fatal(err)
	}
	files, err := plots.Save(temporary, plots.Default(found.Runs, nil), found.Runs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(files)
	// Output: [demo.pdf demo.png demo.svg]
}

// finishedRun writes a run directory with one run of two rounds.
func finishedRun(dir string) string {
	w, err := rundir.Create(dir, false,
		rundir.About{Version: "v1", Seeds: []uint64{1}, Scenario: []byte("name = \"demo\"\n"),
			Started: time.Unix(0, 0)})
	if err != nil {
		log.Fatal(err)
	}
	run := results.Run{ID: "demo/mocha/seed=1", Experiment: "demo", Method: "MOCHA", Algorithm: "mocha", Seed: 1,
		Status: results.Done, Reference: results.Reference{Optimum: 1}}
	for h, s := range []float64{1, 0.1, 0.01} {
		run.Rounds = append(run.Rounds, results.Round{Round: h, TimeS: float64(h), Primal: 1 + s, Suboptimality: s})
	}
	rows, err := w.Begin(0, run)
	if err != nil {
		log.Fatal(err)
	}
	if err := rows.End(run); err != nil {
		log.Fatal(err)
	}
	if err := w.Finish(rundir.Complete, rundir.End{At: time.Unix(1, 0)}); err != nil {
		log.Fatal(err)
	}
	return dir
}
