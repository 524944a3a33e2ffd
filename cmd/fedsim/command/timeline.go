package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/rooms/timeline"
	"fedsim/internal/tools/atomicfile"
)

type timelineFlags struct {
	trace   string
	run     string
	devices int
	rounds  string
}

const traceRounds = 100

func (f *timelineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.trace, "timeline", "", "write a timeline of the devices of one run to this file, as a Chrome trace for https://ui.perfetto.dev")
	flags.StringVar(&f.run, "timeline-run", "", "run for --timeline: its id in runs.csv, without tuned options (default the first run)")
	flags.IntVar(&f.devices, "timeline-devices", 200, "maximum number of devices to show, evenly spaced")
	flags.StringVar(&f.rounds, "timeline-rounds", "", fmt.Sprintf("rounds to show, as in 20:40 or 20 (default 1:%d)", traceRounds))
}

// watch is the timeline of one run, which is recorded and saved.
type watch struct {
	id        string
	path      string
	relative  bool // times are in relative units
	selection timeline.Selection
	recorder  *timeline.Recorder // nil before the run starts
}

// plan checks the flags against the scenario. The result is nil if they request no
// timeline.
func (f *timelineFlags) plan(flags *pflag.FlagSet, s *scenario.Scenario) (*watch, error) {
	if f.trace == "" {
		for _, name := range []string{"timeline-run", "timeline-devices", "timeline-rounds"} {
			if flags.Changed(name) {
				return nil, usagef("--%s: requires --timeline", name)
			}
		}
		return nil, nil
	}
	if filepath.Ext(f.trace) != ".json" {
		return nil, usagef("--timeline=%s: must end in .json", f.trace) // never overwrite a scenario
	}
	if f.devices < 1 {
		return nil, usagef("--timeline-devices=%d: must be positive", f.devices)
	}
	run, err := f.choose(s)
	if err != nil {
		return nil, err
	}
	w := &watch{
		id: plainID(run), path: f.trace, relative: run.Settings.Federation.Relative(),
		selection: timeline.Selection{Devices: f.devices, First: 1, Last: traceRounds},
	}
	rounds := run.Settings.Run.MostRounds()
	if run.Algorithm == scenario.Driven { // the driver ends the run
		rounds = math.MaxInt
	}
	if err := f.narrow(w, rounds); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(f.trace)); err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w", f.trace, err)
	}
	if info, err := os.Stat(f.trace); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: cannot be written: %w", f.trace, syscall.EISDIR)
	}
	return w, nil
}

// narrow selects the rounds of --timeline-rounds. The run has so many rounds.
func (f *timelineFlags) narrow(w *watch, rounds int) error {
	if f.rounds == "" {
		return nil
	}
	first, last, err := parseRounds(f.rounds)
	if err != nil {
		return err
	}
	if first > rounds {
		return usagef("--timeline-rounds=%s: run %[3]s has only %[2]d rounds", f.rounds, rounds, w.id)
	}
	w.selection.First, w.selection.Last = first, last
	return nil
}

// choose returns the run of --timeline-run, or the first run.
func (f *timelineFlags) choose(s *scenario.Scenario) (*scenario.RunSpec, error) {
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
	return nil, usagef("--timeline-run: %s", config.UnknownName("run", f.run, f.run, ids))
}

// plainID returns the id of a run without tuned options. It is known before the run.
func plainID(run *scenario.RunSpec) string {
	plain := *run
	plain.Tuned = nil
	return plain.WithSeed(run.Seed).ID
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
		return 0, 0, usagef("--timeline-rounds=%s: must be a round or a range of rounds, as in 20:40; the first round is 1", text)
	}
	return first, last, nil
}

// journal returns a function that returns the journal of a run; nil if w is nil.
func (w *watch) journal() func(run *scenario.RunSpec, devices int) federation.Journal {
	if w == nil {
		return nil
	}
	return func(run *scenario.RunSpec, devices int) federation.Journal {
		if plainID(run) != w.id {
			return nil
		}
		w.recorder = timeline.NewRecorder(w.selection, devices)
		return w.recorder
	}
}

// write saves the timeline and prints its file to out.
func (w *watch) write(out io.Writer) error {
	if w == nil {
		return nil
	}
	if w.recorder == nil {
		return fmt.Errorf("no timeline: run %s was not started", w.id)
	}
	line, err := w.recorder.Timeline()
	if err != nil {
		return fmt.Errorf("no timeline of run %s: %w", w.id, err)
	}
	line.Relative = w.relative
	if err := atomicfile.Write(w.path, func(to io.Writer) error { return line.WriteChrome(to, w.id) }); err != nil {
		return err
	}
	return printf(out, "timeline: %s: run %s, rounds %d to %d, %d of %s\n",
		w.path, w.id, line.First, line.Last, len(line.Tracks), count(line.Devices, "device"))
}
