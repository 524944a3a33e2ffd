package into_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
)

// The shipped scenario deadline, with a slower link, one seed and fewer rounds.
func ExampleRun() {
	s, err := scenario.Load("deadline", []string{"network.profile=3g", "run.rounds=50", "run.seeds=[1]"})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "into")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	runs, err := into.Run(context.Background(), s, into.Options{Dir: filepath.Join(dir, "3g"), NoFigures: true})
	if err != nil {
		log.Fatal(err)
	}
	for i := range runs {
		last, _ := runs[i].Last()
		fmt.Printf("%s: %s after %d rounds and %.0f s, suboptimality %.1e\n", runs[i].Method, runs[i].Status,
			last.Round, last.TimeS, last.Suboptimality)
	}
	// Output:
	// MOCHA: done after 50 rounds and 15 s, suboptimality 2.6e-02
	// CoCoA: done after 50 rounds and 107 s, suboptimality 2.6e-03
}
