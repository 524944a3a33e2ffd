// Command bench does the same work with fedsim and with its peers, side by side
// in one run, and prints how many times as long the peers take:
//
//   - coordinate steps of dual ascent, against LIBLINEAR and a loop in C;
//   - events of the hold model, against Akita and SimPy.
//
// docs/performance.md tells the method. The command is a module of its own so
// that fedsim does not depend on its peers. A peer that is not installed is left
// out with a word of how to install it.
//
// It must not know how fedsim does the work: it uses what any user of its
// packages has, and is right to be compared with.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the command on the given arguments; it returns the exit code.
func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 21, "how often each contestant does each work")
	only := flags.String("only", "", "do only the work whose name contains this")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 {
		fmt.Fprintln(log, "bench: takes no arguments, and at least one repetition")
		return 2
	}
	if err := compare(out, *repetitions, *only); err != nil {
		fmt.Fprintln(log, "bench:", err)
		return 1
	}
	return 0
}

// compare prints the table of all work whose name contains only.
func compare(out io.Writer, repetitions int, only string) error {
	fmt.Fprintf(out, "%s, %d processors, %s; medians of %d repetitions in turn\n\n",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), repetitions)
	t := newTable(out)
	missing, err := compareSolvers(t, repetitions, only)
	if err != nil {
		return err
	}
	more, err := compareEngines(t, repetitions, only)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, m := range append(missing, more...) {
		fmt.Fprintln(out, "left out:", m)
	}
	return nil
}

// notInstalled says which peer is not there and what would bring it.
type notInstalled struct{ peer, remedy string }

func (e notInstalled) Error() string {
	return fmt.Sprintf("%s is not installed: %s", e.peer, e.remedy)
}

// leftOut splits off a peer that is not installed from what is an error.
func leftOut(err error) (missing *notInstalled, failure error) {
	var m notInstalled
	if errors.As(err, &m) {
		return &m, nil
	}
	return nil, err
}

// processor returns the name that the system has for the processor.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				return strings.Trim(name, " \t:\n")
			}
		}
	}
	return runtime.GOARCH
}
