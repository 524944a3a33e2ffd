// Command bench runs the same work with fedsim and with peers, and prints the ratios of
// their times:
//
//   - coordinate steps of dual ascent, against LIBLINEAR and a loop in C;
//   - a pass of mini-batch SGD over MNIST, softmax regression and a network, against NumPy and
//     scikit-learn;
//   - events of the hold model, against Akita and SimPy;
//   - with -training: whole runs of federated averaging, against loops in NumPy and PyTorch, Flower,
//     FLGo and pfl-research.
//
// bench/README.md describes the method. The command is a separate module, so that
// fedsim does not depend on its peers. It skips peers that are not installed and prints
// how to install them.
//
// It uses only the public interface of fedsim's packages.
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

func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 21, "repetitions of each measurement")
	only := flags.String("only", "",
		"run only work whose name contains this text; with -training, work and programs that match it")
	training := flags.Bool("training", false, "compare whole runs of training instead")
	quick := flags.Bool("quick", false, "with -training: three rounds of each run")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 {
		fmt.Fprintln(log, "bench: no arguments are allowed, and -repetitions must be at least 1")
		return 2
	}
	work := func() error { return compare(out, *repetitions, *only) }
	if *training {
		work = func() error { return compareTraining(out, log, *repetitions, *only, *quick) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(log, "bench:", err)
		return 1
	}
	return 0
}

// compare prints the table of all work with names that contain only.
func compare(out io.Writer, repetitions int, only string) error {
	fmt.Fprintf(out, "%s, %d processors, %s; medians of %d repetitions in turn\n\n",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), repetitions)
	t := newTable(out, comparison)
	missing, err := compareSolvers(t, repetitions, only)
	if err != nil {
		return err
	}
	more, err := compareNetworks(t, repetitions, only)
	if err != nil {
		return err
	}
	missing = append(missing, more...)
	if more, err = compareEngines(t, repetitions, only); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, m := range append(missing, more...) {
		fmt.Fprintln(out, "skipped:", m)
	}
	return nil
}

// notInstalled is the error for a missing peer, with the command that installs it.
type notInstalled struct{ peer, remedy string }

func (ni notInstalled) Error() string {
	return fmt.Sprintf("%s is not installed: %s", ni.peer, ni.remedy)
}

// leftOut separates missing peers from other errors.
func leftOut(err error) (missing *notInstalled, failure error) {
	var m notInstalled
	if errors.As(err, &m) {
		return &m, nil
	}
	return nil, err
}

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
