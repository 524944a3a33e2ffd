package command

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/atomicfile"
)

// computeFlags are the flags that affect how results are computed, not the results.
type computeFlags struct {
	workers       int
	progress      string
	allowExternal bool // start the programs of the scenario without asking
	otherProgram  bool // resume runs of an external model with another program
}

func (f *computeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "`N` cores (default all; results are the same)")
	f.addAllow(cmd)
	flags.StringVar(&f.progress, "progress", progressAuto,
		"`KIND` show progress on standard error: "+strings.Join(progressNames, ", "))
	completeFlag(cmd, "progress", oneOf(progressNames))
}

// check checks the values of flags; quiet: errors only are printed.
func (f *computeFlags) check(quiet bool) error {
	switch {
	case quiet && (f.progress == progressPlain || f.progress == progressJSON):
		return usagef("--quiet: cannot be combined with --progress=%s", f.progress)
	case f.workers < 0:
		return usagef("--workers=%d: must not be negative; 0 uses all cores", f.workers)
	case !slices.Contains(progressNames, f.progress):
		return usagef("--progress=%s: must be one of %s", f.progress, strings.Join(progressNames, ", "))
	default:
		return nil
	}
}

// display returns the display of progress that the flags request.
func (f *computeFlags) display(cmd *cobra.Command, quiet bool) *progress {
	kind := f.progress
	if quiet {
		kind = progressNone
	}
	return newProgress(cmd.ErrOrStderr(), kind, time.Now)
}

// options returns how a command computes runs.
func (f *computeFlags) options(cmd *cobra.Command) experiment.Options {
	return experiment.Options{
		Workers: f.workers, Memory: machineMemory(), Clock: time.Now, Stderr: cmd.ErrOrStderr(),
		AllowOtherProgram: f.otherProgram,
		Waits:             func(say func() string) { waitsFor(cmd.Context(), say) },
	}
}

// permit returns an error if a scenario may not start its programs, or needs more memory than
// there is.
func (f *computeFlags) permit(cmd *cobra.Command) func(*scenario.Scenario) error {
	return func(s *scenario.Scenario) error {
		if err := f.allow(cmd, s); err != nil {
			return err
		}
		return requireMemory(s)
	}
}

// directoryFlags are the flags of commands that make a run directory.
type directoryFlags struct {
	out       string
	force     bool
	noFigures bool
}

// add adds the flags; byDefault is the default directory.
func (f *directoryFlags) add(cmd *cobra.Command, byDefault string) {
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "`DIR` run directory (default "+byDefault+")")
	completeFlag(cmd, "out", completeDirectory)
	cmd.Flags().BoolVar(&f.force, "force", false, "replace an existing run")
}

func (f *directoryFlags) addNoFigures(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noFigures, "no-figures", false, "draw none now")
}

// options returns where a command with a command line runs a scenario into.
func (f *directoryFlags) options(line []string) into.Options {
	return into.Options{
		Dir: f.out, Force: f.force, NoFigures: f.noFigures,
		Version: readVersion().String(), Command: line, End: ended,
	}
}

// addOut adds the flag --out of a command that writes a file.
func addOut(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "`FILE` file to write (default standard output)")
}

// writeOut writes to the file of --out, or to standard output if it is empty.
func writeOut(cmd *cobra.Command, out string, write func(io.Writer) error) error {
	if out == "" {
		return write(cmd.OutOrStdout())
	}
	return atomicfile.Write(out, write)
}

// outputFlags are the flags of commands that print a summary.
type outputFlags struct {
	quiet bool
	json  bool

	brief func(*into.Directory) error // prints instead of the summary; nil: the summary is printed
}

func (f *outputFlags) addQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false,
		"print errors only")
}

func (f *outputFlags) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print the results as JSON")
}

func (f *outputFlags) text(cmd *cobra.Command) io.Writer {
	if f.quiet || f.json {
		return io.Discard
	}
	return cmd.OutOrStdout()
}

func (f *outputFlags) notes(cmd *cobra.Command) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}
