package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/atomicfile"
	"fedsim/scenarios"
	"fedsim/timeline"
)

// timelineFlags are the flags of fedsim run that show what devices do when.
type timelineFlags struct {
	trace   string
	run     string
	devices int
	rounds  string
}

// timelineRounds is how many rounds a trace has unless told otherwise.
const timelineRounds = 100

func (f *timelineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.trace, "timeline", "", "write what the devices of one run do when to this file, a Chrome trace of virtual time that https://ui.perfetto.dev opens")
	flags.StringVar(&f.run, "timeline-run", "", "the run: its id in runs.csv, without what tuning chose (default the first)")
	flags.IntVar(&f.devices, "timeline-devices", 200, "show at most so many devices, evenly spaced")
	flags.StringVar(&f.rounds, "timeline-rounds", "", fmt.Sprintf("show rounds A to B, as in 20:40, or one (default 1:%d)", timelineRounds))
}

// watch is what is to be shown of one run, and its journal when it has begun.
type watch struct {
	flags *timelineFlags
	id    string
	trace timeline.Selection

	recorder *timeline.Recorder
}

// plan checks the flags against the scenario; nil: nothing is to be shown.
func (f *timelineFlags) plan(flags *pflag.FlagSet, s *scenarios.Scenario) (*watch, error) {
	if f.trace == "" {
		for _, name := range []string{"timeline-run", "timeline-devices", "timeline-rounds"} {
			if flags.Changed(name) {
				return nil, usagef("--%s: goes with --timeline", name)
			}
		}
		return nil, nil
	}
	if f.devices < 1 {
		return nil, usagef("--timeline-devices=%d: must be positive", f.devices)
	}
	run, err := f.choose(s)
	if err != nil {
		return nil, err
	}
	w := &watch{flags: f, id: plainID(run), trace: timeline.Selection{Devices: f.devices, First: 1, Last: timelineRounds}}
	if f.rounds != "" {
		if w.trace.First, w.trace.Last, err = parseRounds(f.rounds); err != nil {
			return nil, err
		}
	}
	if all := run.Settings.Run.Outer * run.Settings.Run.Rounds; w.trace.First > all {
		return nil, usagef("--timeline-rounds=%s: must begin with one of the %d rounds of run %s", f.rounds, all, w.id)
	}
	if _, err := os.Stat(filepath.Dir(f.trace)); err != nil {
		return nil, fmt.Errorf("--timeline=%s: %w", f.trace, err)
	}
	return w, nil
}

// choose returns the run that is to be shown.
func (f *timelineFlags) choose(s *scenarios.Scenario) (*scenarios.Run, error) {
	var ids []string
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			for _, seed := range j.Seeds {
				run := j.Candidates[0].WithSeed(seed)
				id := plainID(&run)
				if f.run == "" || f.run == id {
					return &run, nil
				}
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, usagef("--timeline=%s: scenario %s makes tables alone: there is no run to show", f.trace, s.Name)
	}
	return nil, usagef("--timeline-run: %s", config.UnknownName("run", f.run, f.run, ids))
}

// plainID returns the id of a run without what tuning chose, which is known from
// the start.
func plainID(run *scenarios.Run) string {
	plain := *run
	plain.Tuned = nil
	return plain.WithSeed(run.Seed).ID
}

// parseRounds reads A:B, or A alone.
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
		return 0, 0, usagef("--timeline-rounds=%s: must be two rounds in order, as in 20:40; the first round is 1", text)
	}
	return first, last, nil
}

// journal returns what gives the run that is watched its journal; nil when none is.
func (w *watch) journal() func(run *scenarios.Run, devices int) federation.Journal {
	if w == nil {
		return nil
	}
	return func(run *scenarios.Run, devices int) federation.Journal {
		if plainID(run) != w.id {
			return nil
		}
		w.recorder = timeline.NewRecorder(w.trace, devices)
		return w.recorder
	}
}

// write writes what was to be shown, and says so to out.
func (w *watch) write(out io.Writer) error {
	if w == nil {
		return nil
	}
	if w.recorder == nil {
		return fmt.Errorf("no timeline: run %s was not begun", w.id)
	}
	line, err := w.recorder.Timeline()
	if err != nil {
		return fmt.Errorf("run %s: %w", w.id, err)
	}
	err = atomicfile.Write(w.flags.trace, func(to io.Writer) error { return line.WriteChrome(to, w.id) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "timeline: %s, of run %s, rounds %d to %d, %d of %d devices\n",
		w.flags.trace, w.id, line.First, line.Last, len(line.Tracks), line.Devices)
	return err
}
