package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/rooms/timeline"
	"fedsim/internal/tools/atomicfile"
	"fedsim/results"
	"fedsim/results/rundir"
)

func init() {
	ofExplain = append(ofExplain,
		func(cmd *cobra.Command) func(*rundir.Results, *scenario.RunSpec) (bool, error) {
			f := timelineFlags{computeFlags: computeFlags{progress: progressAuto}}
			f.add(cmd)
			return func(read *rundir.Results, run *scenario.RunSpec) (bool, error) { return f.write(cmd, read, run) }
		})
}

type timelineFlags struct {
	computeFlags // --allow-external
	trace        string
	devices      int
	rounds       string
}

const timelineRounds = 100

func (f *timelineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.trace, "timeline", "", "`FILE` simulate the run again, and write a timeline of its devices")
	flags.StringVar(&f.rounds, "rounds", "",
		fmt.Sprintf("`A:B` with --timeline: rounds to show (default 1:%d)", timelineRounds))
	flags.IntVar(&f.devices, "devices", 200, "`N` with --timeline: most devices to show, evenly spaced")
	f.addAllow(cmd)
	hide(cmd, "allow-external")
}

// write simulates a run again and writes its timeline, if the flags ask for one.
func (f *timelineFlags) write(cmd *cobra.Command, read *rundir.Results, run *scenario.RunSpec) (asked bool, err error) {
	if f.trace == "" {
		for _, name := range []string{"rounds", "devices", "allow-external"} {
			if cmd.Flags().Changed(name) {
				return true, usagef("--%s: requires --timeline", name)
			}
		}
		return false, nil
	}
	selection, err := f.check(run)
	if err != nil {
		return true, err
	}
	s, err := scenario.ParseRecorded(read.Dir, read.Scenario)
	if err != nil {
		return true, err
	}
	if err := f.permit(cmd)(s); err != nil {
		return true, err
	}
	var entries *timeline.Journal
	p := f.display(cmd, false)
	o := f.options(cmd)
	o.Progress = p.update
	o.Journal = func(_ *scenario.RunSpec, devices int) federation.Journal {
		entries = timeline.NewJournal(selection, devices)
		return entries
	}
	err = experiment.Again(cmd.Context(), s, run, runOf(read, run.ID), o)
	p.end()
	if experiment.Interrupted(err) {
		return true, interrupted{"interrupted; no timeline is written", err}
	}
	if err != nil {
		return true, err
	}
	line, err := entries.Timeline()
	if err != nil {
		return true, fmt.Errorf("no timeline of run %s: %w", run.ID, err)
	}
	line.Relative = run.Settings.Federation.Relative()
	if err := atomicfile.Write(f.trace, func(to io.Writer) error { return line.WriteChrome(to, run.ID) }); err != nil {
		return true, err
	}
	return true, printf(cmd.OutOrStdout(), "timeline: %s: run %s, rounds %d to %d, %d of %s\n",
		f.trace, run.ID, line.First, line.Last, len(line.Tracks), count(line.Devices, "device"))
}

// check checks the flags, and returns the rounds and devices that they select.
func (f *timelineFlags) check(run *scenario.RunSpec) (selected timeline.Selection, err error) {
	if filepath.Ext(f.trace) != ".json" {
		return selected, usagef("--timeline=%s: must end in .json", f.trace) // never overwrite a scenario
	}
	if f.devices < 1 {
		return selected, usagef("--devices=%d: must be positive", f.devices)
	}
	if run.Algorithm == scenario.Driven {
		return selected, usagef("--timeline: another program drove run %s: it cannot be simulated without it", run.ID)
	}
	selected = timeline.Selection{Devices: f.devices, First: 1, Last: timelineRounds}
	if f.rounds != "" {
		if selected.First, selected.Last, err = parseRounds(f.rounds); err != nil {
			return selected, err
		}
	}
	if most := run.Settings.Run.MostRounds(); selected.First > most {
		return selected, usagef("--rounds=%s: run %s has only %d rounds", f.rounds, run.ID, most)
	}
	if _, err := os.Stat(filepath.Dir(f.trace)); err != nil {
		return selected, fmt.Errorf("%s: cannot be written: %w", f.trace, err)
	}
	if info, err := os.Stat(f.trace); err == nil && info.IsDir() {
		return selected, fmt.Errorf("%s: cannot be written: %w", f.trace, syscall.EISDIR)
	}
	return selected, nil
}

// runOf returns the recorded run with an ID.
func runOf(read *rundir.Results, id string) *results.Run {
	for i := range read.Runs {
		if read.Runs[i].ID == id {
			return &read.Runs[i]
		}
	}
	return &results.Run{}
}

// parseRounds parses A:B, or A.
func parseRounds(text string) (first, last int, err error) {
	a, b, pair := strings.Cut(text, ":")
	if !pair {
		b = a
	}
	first, failed := strconv.Atoi(a)
	if failed == nil {
		last, failed = strconv.Atoi(b)
	}
	if failed != nil || first < 1 || last < first {
		return 0, 0,
			usagef("--rounds=%s: must be a round or a range of rounds, as in 20:40; the first round is 1", text)
	}
	return first, last, nil
}
