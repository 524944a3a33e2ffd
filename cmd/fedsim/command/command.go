// Package command implements the fedsim command line, one file per command. A
// command parses its arguments, calls the package that does the work, and prints
// the result.
//
// To add algorithms or other plugins, write a main package that imports them and
// calls Main:
//
//	func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
//
// Only this package uses the real clock, signals and terminals. It must not know
// how results are computed, written or drawn.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/internal/tools/columns"
)

// Main runs a command line and returns the exit status. Args excludes the program
// name. The statuses are 0 done, 1 failed, 2 usage or configuration error, 3 stalled
// (the results are complete, but in some run no device could act again) and 75
// interrupted (finished results are saved). Errors are written to stderr, one line
// each. The first interrupt ends a run after its round; the second kills the process.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilInterrupted(context.Background(), stderr)
	defer stop()
	defer limitGarbage()()
	return execute(ctx, args, stdout, stderr)
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	root := newRoot(args)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	// A command whose output exceeds the buffer already returns the write error.
	if flushed := out.Flush(); flushed != nil && (err == nil || errors.Is(err, flushed)) {
		err = fmt.Errorf("write standard output: %w", flushed)
	}
	printError(stderr, err)
	return status(err)
}

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "fedsim",
		Short: "Simulate federated learning on slow, unreliable devices in virtual time",
		Long: `fedsim simulates federated learning on a network of devices. The optimization is
real; devices, links, dropouts and batteries are simulated as discrete events in
virtual time. A scenario file defines the runs. Figures and tables show the time
to accuracy.`,
		Example: `  fedsim run quickstart
  fedsim run scenarios/lte-high-var.toml --set faults.drop_probability=0.25
  fedsim scenarios list`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Version = readVersion().String()
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the versions of fedsim and Go, and the platform")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns.Width)))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	line := append([]string{root.Name()}, args...)
	asGroup(root, newRun(line), newEngine(line), newPlan(line), newWork(), newMerge(), newTune(), newTheory(line), newPlot(),
		newCompare(), newExplain(), newReport(), newStatus(), newServe(), newSubmit(), newResults(), newInit(), newScenarios(),
		newCalibrate(), newReplay(), newData(), newTrace(), newFleet(), newAlgorithms(), newLearner(), newCompletion(), newMan(), newVersion())
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	completeNothingAfter(root)
	reflow(root)
	return root
}
