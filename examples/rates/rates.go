// Command rates runs a shipped scenario on two networks, and prints how long its methods take. It
// shows a program that uses fedsim as a library.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
)

func main() {
	if err := compare(os.Stdout, "runs"); err != nil {
		log.Fatal(err)
	}
}

// compare runs the scenario into a folder for each network.
func compare(out io.Writer, folder string) error {
	for _, network := range []string{"3g", "wifi"} {
		s, err := scenario.Load("deadline", []string{"network.profile=" + network, "run.rounds=50", "run.seeds=[1]"})
		if err != nil {
			return err
		}
		o := into.Options{Dir: filepath.Join(folder, network), Force: true, NoFigures: true}
		runs, err := into.Run(context.Background(), s, o)
		if err != nil {
			return err
		}
		for i := range runs {
			if last, ok := runs[i].Last(); ok {
				fmt.Fprintf(out, "%s, %s: %d rounds in %.1f s\n", network, runs[i].Method, last.Round, last.TimeS)
			}
		}
	}
	return nil
}
