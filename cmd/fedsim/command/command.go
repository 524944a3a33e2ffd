// Package command is the command line of fedsim: one file per command, which
// reads arguments, calls the package that does the work, and prints what comes
// back. A main package of one's own that imports it beside algorithms of one's
// own is a fedsim with those algorithms:
//
//	func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
//
// It is the one place that knows the real clock, signals and terminals. It must
// not know how anything is computed, written or drawn.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/internal/columns"
)

// Main runs the command line that args are, without the name of the program,
// and returns the status to exit with: 0 done, 1 failed, 2 usage or
// configuration, 3 stalled: the results are complete, and no device of some run can
// ever act again, 75 interrupted with what was finished kept. Errors go to stderr, one
// line each. An interrupt ends a run after its round; a second one kills the process.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilInterrupted(context.Background())
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
	// A command that writes more than the buffer holds meets the error itself.
	if flushed := out.Flush(); flushed != nil && (err == nil || errors.Is(err, flushed)) {
		err = fmt.Errorf("write standard output: %w", flushed)
	}
	complain(stderr, err)
	return status(err)
}

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "fedsim",
		Short: "Simulate federated optimisation on slow, unreliable devices in virtual time",
		Long: `fedsim simulates a federation of devices that learn together: real optimisation
inside a discrete-event model of devices, links, drops and batteries. A scenario
file says what to run; figures and tables show the time to accuracy.`,
		Example: `  fedsim run quickstart
  fedsim run scenarios/lte-high-var.toml --set faults.drop_probability=0.25
  fedsim scenarios list`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Version = readVersion().String()
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the versions of fedsim and Go and the platform")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns.Width)))
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newRun(append([]string{root.Name()}, args...)), newTune(), newTheory(append([]string{root.Name()}, args...)), newPlot(), newCompare(), newExplain(), newReport(), newServe(), newResults(), newInit(), newScenarios(), newData(), newTrace(), newFleet(), newAlgorithms(), newCompletion(), newMan(), newVersion())
	asGroup(root)
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	completeNothingAfter(root)
	reflow(root)
	return root
}
