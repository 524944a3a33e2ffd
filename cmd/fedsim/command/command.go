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

	"github.com/spf13/cobra"

	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
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
	args, all := helpForAll(args)
	root := newRoot(args)
	if all {
		reveal(root)
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := retiredCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	// A command whose output exceeds the buffer already returns the write error.
	if flushed := out.Flush(); flushed != nil && (err == nil || errors.Is(err, flushed)) {
		err = fmt.Errorf("write standard output: %w", flushed)
	}
	printError(stderr, err)
	return status(err)
}

// ofRooms make the commands of rooms, from the command line: the file of each adds its own.
var ofRooms []func(line []string) *cobra.Command

// ofExplain add the parts of rooms to the explanation of a run: flags, and a function that runs if one of them is set.
var ofExplain []func(cmd *cobra.Command) func(read *rundir.Results, run *scenario.RunSpec) (asked bool, err error)

// endsOfExplain return the sections of rooms on all runs of a directory, which follow the explanation of one run.
var endsOfExplain []func(s *scenario.Scenario, runs []results.Run) results.Sections

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "fedsim COMMAND [ARGUMENTS]",
		Short: "Simulate federated learning on slow, unreliable devices in virtual time",
		Long: `fedsim trains models on simulated devices, and says how long each method takes
to an accuracy, in bytes and joules as well. Time is virtual; training is real.`,
		Example: `  fedsim run quickstart                  four methods on forty phones, seconds
  fedsim init mine.toml                  a scenario of your own, 30 lines
  fedsim run mine.toml --set network.profile=3g`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Version = readVersion().String()
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the versions of fedsim and Go, and the platform")
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printText(cmd.OutOrStdout(), usage(cmd)) })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	line := append([]string{"fedsim"}, args...)
	commands := []*cobra.Command{newRun(line), newPlot(), newShow(), newExport(), newInit(), newCheck(),
		newScenarios(), newData(), newTrace(), newFleet(), newMethods(), newCompletion(), newMan(), newVersion(),
		newHelp()}
	for _, command := range ofRooms {
		commands = append(commands, command(line))
	}
	asGroup(root)
	addLicenses(root)
	addGroups(root, commands)
	root.SetHelpCommand(child(root, "help"))
	completeNothingAfter(root)
	reflow(root)
	return root
}
