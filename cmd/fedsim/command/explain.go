package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/internal/tools/plainjson"
	"fedsim/results/rundir"
)

type explainFlags struct {
	run       string
	without   int
	deadlineS float64
	unshared  bool
	before    bool
	json      bool

	others []func(read *rundir.Results, run *scenario.RunSpec) (asked bool, err error)
}

func init() { ofRooms = append(ofRooms, newExplain) }

func newExplain([]string) *cobra.Command {
	var f explainFlags
	cmd := takesOne(&cobra.Command{
		Use:   "explain DIR\nexplain SCENARIO --before",
		Short: "Say where the time went, and which devices were slow",
		Long: `Explain why a run took so long, and which devices were stragglers.

The command prints the time of the rounds by cause (downlink, compute, uplink, ...)
along the path of the response that ended each round. It lists the devices that
ended rounds, by how much they delayed the round after the last response before
theirs, and the share of time that devices waited. Under a deadline it lists those
that missed it, and by how much. A shared link that delayed rounds is named.

--without, --deadline and --unshared estimate the time of the same rounds without the
slowest devices, with a deadline, or with links that no transfer shares.
docs/time.md#why-a-run-took-so-long says when that is possible.

A directory with several seeds ends with how many of them would make the first row
certain.

The run must have rows by device. Runs have up to 200,000 of them by default, and
all with --set run.devices=true.

--timeline simulates the run again, and writes what its devices did as a Chrome
trace for https://ui.perfetto.dev.

--before says, of a scenario that has not run, which timeout is the first to end
the first try of a client, with what probability, and which clients have the least
chance to respond.`,
		Example: `  fedsim explain runs/quickstart
  fedsim explain runs/quickstart --run quickstart/mocha/seed=2 --json
  fedsim explain runs/deadline --without 2 --deadline 0.3
  fedsim explain runs/quickstart --timeline quick.json --rounds 1:20
  fedsim explain timeouts --before`,
	}, "a run directory, or a scenario with --before", completeDirectory, func(cmd *cobra.Command, of string) error {
		if f.before {
			return f.explainBefore(cmd, of)
		}
		return f.explain(cmd, of)
	})
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "`ID` the run, by its id in runs.csv (default the first run)")
	completeFlag(cmd, "run", completeRun)
	flags.IntVar(&f.without, "without", 0, "`N` also estimate the time without the N slowest devices")
	flags.Float64Var(&f.deadlineS, "deadline", 0,
		"`S` also estimate the time with a deadline of this many seconds in every round")
	flags.BoolVar(&f.unshared, "unshared", false, "also estimate the time with every transfer alone on its links")
	flags.BoolVar(&f.before, "before", false, "explain a scenario before it runs: which timeouts end first tries")
	flags.BoolVar(&f.json, "json", false, "print JSON with every round and device (docs/reference/json.md)")
	for _, of := range ofExplain {
		f.others = append(f.others, of(cmd))
	}
	return cmd
}

func (f *explainFlags) explain(cmd *cobra.Command, dir string) error {
	if cmd.Flags().Changed("without") && f.without < 1 {
		return usagef("--without=%d: must be at least 1", f.without)
	}
	if cmd.Flags().Changed("deadline") && !(f.deadlineS > 0 && f.deadlineS <= 1e9) {
		return usagef("--deadline=%v: must be positive and at most 1e9 seconds", f.deadlineS)
	}
	read, err := f.read(cmd, dir)
	if err != nil {
		return err
	}
	run, err := explain.Find(read, f.run)
	if err != nil {
		return fmt.Errorf("%s: %w", read.Dir, err)
	}
	for _, other := range f.others {
		if asked, err := other(read, run); asked || err != nil {
			return err
		}
	}
	report, err := explain.Read(read.Dir, run)
	if errors.Is(err, rundir.ErrNoDevices) {
		return fmt.Errorf("%w; run the scenario again with --set run.devices=true", err)
	}
	if err != nil {
		return err
	}
	for i := range read.Runs {
		if read.Runs[i].ID == run.ID {
			report.NameDevices(&read.Runs[i])
			report.AddTargets(&read.Runs[i], read.Manifest.Targets)
		}
	}
	if err := f.addEstimates(report); err != nil {
		return err
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), report)
	}
	s, err := scenario.ParseRecorded(read.Dir, read.Scenario)
	if err != nil {
		return err
	}
	sections := report.Sections()
	for _, end := range endsOfExplain {
		sections = append(sections, end(s, read.Runs)...)
	}
	return printText(cmd.OutOrStdout(), sections.Text(textWidth()))
}

// explainBefore says what ends the first tries of the runs of a scenario.
func (f *explainFlags) explainBefore(cmd *cobra.Command, name string) error {
	for _, flag := range []string{"without", "deadline", "unshared", "timeline"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s: explains a run, and --before a scenario that has not run", flag)
		}
	}
	s, err := scenario.Load(name, nil)
	if err != nil {
		return err
	}
	list, err := experiment.Before(cmd.Context(), s.Experiments)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", s.Name, err)}
	}
	one := slices.MinFunc(list, func(x, y *experiment.FirstTries) int { return cmp.Compare(x.Arrives, y.Arrives) })
	if f.run != "" {
		ids := make([]string, len(list))
		for i, b := range list {
			ids[i] = b.Run
		}
		at := slices.Index(ids, f.run)
		if at < 0 {
			return usagef("--run: %s", config.UnknownName("run", f.run, f.run, ids))
		}
		one = list[at]
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), list)
	}
	sections := experiment.SectionsOfFirstTries(list, one)
	return printText(cmd.OutOrStdout(), sections.Text(textWidth()))
}

// read reads a run directory, which must have the run of --run.
func (f *explainFlags) read(cmd *cobra.Command, dir string) (*rundir.Results, error) {
	read, err := rundir.Read(rundir.Locate(dir))
	if err != nil {
		return nil, err
	}
	noteAbsent(cmd.ErrOrStderr(), dir, &read.Manifest)
	ids := make([]string, len(read.Runs))
	for i := range ids {
		ids[i] = read.Runs[i].ID
	}
	if f.run != "" && !slices.Contains(ids, f.run) {
		return nil, usagef("--run: %s", config.UnknownName("run", f.run, f.run, ids))
	}
	return read, nil
}

// addEstimates adds the estimates that the flags request.
func (f *explainFlags) addEstimates(r *explain.Report) error {
	if f.without > 0 {
		w, err := r.WithoutSlowest(f.without)
		if err != nil {
			return fmt.Errorf("--without=%d: %w", f.without, err)
		}
		r.WhatIf = append(r.WhatIf, w)
	}
	if f.deadlineS > 0 {
		w, err := r.Deadline(f.deadlineS)
		if err != nil {
			return fmt.Errorf("--deadline=%v: %w", f.deadlineS, err)
		}
		r.WhatIf = append(r.WhatIf, w)
	}
	if f.unshared {
		w, err := r.Unshared()
		if err != nil {
			return fmt.Errorf("--unshared: %w", err)
		}
		r.WhatIf = append(r.WhatIf, w)
	}
	return nil
}
