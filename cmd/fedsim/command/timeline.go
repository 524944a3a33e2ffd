package command

import (
	"errors"
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
	"fedsim/internal/atomicfile"
	"fedsim/internal/record/timeline"
	"fedsim/plots"
)

// timelineFlags are the flags of fedsim run for timelines.
type timelineFlags struct {
	trace   string
	gantt   string
	run     string
	devices int
	rounds  string
}

// The default number of rounds.
const (
	traceRounds = 100
	ganttRounds = 10
)

func (f *timelineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.trace, "timeline", "", "write a timeline of the devices of one run to this file, as a Chrome trace for https://ui.perfetto.dev")
	flags.StringVar(&f.gantt, "gantt", "", "draw a timeline of the devices of one run to this file, .png or .svg; without an extension, both")
	flags.StringVar(&f.run, "timeline-run", "", "run for --timeline and --gantt: its id in runs.csv, without tuned options (default the first run)")
	flags.IntVar(&f.devices, "timeline-devices", 200, fmt.Sprintf("maximum number of devices to show, evenly spaced (--gantt: at most %d)", plots.MaxGanttRows))
	flags.StringVar(&f.rounds, "timeline-rounds", "", fmt.Sprintf("rounds to show, as in 20:40 or 20 (default 1:%d, --gantt 1:%d)", traceRounds, ganttRounds))
}

// watch is the timelines of one run.
type watch struct {
	id    string
	shows []show
}

// show is a timeline that is recorded and saved.
type show struct {
	selection timeline.Selection
	recorder  *timeline.Recorder // nil before the run starts
	name      string             // "timeline" or "gantt"
	save      func(*timeline.Timeline) (files []string, err error)
}

// plan checks the flags against the scenario. The result is nil if they request no
// timeline.
func (f *timelineFlags) plan(flags *pflag.FlagSet, s *scenario.Scenario) (*watch, error) {
	if f.trace == "" && f.gantt == "" {
		for _, name := range []string{"timeline-run", "timeline-devices", "timeline-rounds"} {
			if flags.Changed(name) {
				return nil, usagef("--%s: requires --timeline or --gantt", name)
			}
		}
		return nil, nil
	}
	if f.trace != "" && filepath.Ext(f.trace) != ".json" {
		return nil, usagef("--timeline=%s: must end in .json", f.trace) // never overwrite a scenario
	}
	if f.devices < 1 {
		return nil, usagef("--timeline-devices=%d: must be positive", f.devices)
	}
	run, err := f.choose(s)
	if err != nil {
		return nil, err
	}
	w := &watch{id: plainID(run)}
	if f.trace != "" {
		w.shows = append(w.shows, show{
			name: "timeline", selection: timeline.Selection{Devices: f.devices, First: 1, Last: traceRounds},
			save: func(line *timeline.Timeline) ([]string, error) {
				line.Relative = run.Settings.Federation.Relative()
				return []string{f.trace}, saveTrace(line, w.id, f.trace)
			},
		})
	}
	if f.gantt != "" {
		if _, err := pictureFiles("gantt", f.gantt); err != nil {
			return nil, err
		}
		w.shows = append(w.shows, show{
			name: "gantt", selection: timeline.Selection{Devices: min(f.devices, plots.MaxGanttRows), First: 1, Last: ganttRounds},
			save: func(line *timeline.Timeline) ([]string, error) { return saveGantt(line, run, f.gantt) },
		})
	}
	rounds := run.Settings.Run.Outer * run.Settings.Run.Rounds
	if run.Algorithm == scenario.Driven { // the driver ends the run
		rounds = math.MaxInt
	}
	if err := f.narrow(w, rounds); err != nil {
		return nil, err
	}
	for _, path := range []string{f.trace, f.gantt} {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%s: cannot be written: %w", path, err)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s: cannot be written: %w", path, syscall.EISDIR)
		}
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
	for i := range w.shows {
		w.shows[i].selection.First, w.shows[i].selection.Last = first, last
	}
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
	if len(ids) == 0 {
		return nil, usagef("scenario %s makes only tables: there is no run for --timeline or --gantt", s.Name)
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
		var all []federation.Journal
		for i := range w.shows {
			s := &w.shows[i]
			s.recorder = timeline.NewRecorder(s.selection, devices)
			all = append(all, s.recorder)
		}
		return federation.Journals(all...)
	}
}

// write saves the timelines and prints their files to out.
func (w *watch) write(out io.Writer) error {
	if w == nil {
		return nil
	}
	var failed []error
	for i := range w.shows {
		failed = append(failed, w.shows[i].write(out, w.id))
	}
	return errors.Join(failed...)
}

func (s *show) write(out io.Writer, id string) error {
	if s.recorder == nil {
		return fmt.Errorf("no %s: run %s was not started", s.name, id)
	}
	line, err := s.recorder.Timeline()
	if err != nil {
		return fmt.Errorf("no %s of run %s: %w", s.name, id, err)
	}
	files, err := s.save(line)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%-8s %s: run %s, rounds %d to %d, %d of %s\n",
		s.name+":", strings.Join(files, ", "), id, line.First, line.Last, len(line.Tracks), count(line.Devices, "device"))
	return err
}

// saveTrace writes the timeline of a run as a Chrome trace.
func saveTrace(line *timeline.Timeline, run, path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return line.WriteChrome(w, run) })
}
