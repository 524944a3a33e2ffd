package verify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/engine"
	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/mtl"
	"fedsim/results"
	"fedsim/results/rundir"
)

var (
	drawnScenarios = flag.Int("differences", 25, "scenarios that TestDifferences draws")
	firstSeed      = flag.Uint64("first", 1, "seed of the first scenario of TestDifferences; the next ones follow")
	forTime        = flag.Duration("for", 0, "TestDifferences draws scenarios for this time instead")
	otherPrograms  = flag.String("programs", "",
		"other programs of TestDifferences: commands that end in the name of a fedsim, separated by commas")
)

// outcome is what a scenario gives: its runs, or an error.
type outcome struct {
	runs []results.Run
	err  error
}

// variant is another way to make the runs of a scenario, with the same bits.
type variant struct {
	name string
	// settings over those of the scenario, which must then be a scenario; nil: none
	over []string
	both []string // settings over those of the scenario in both ways; nil: none
	make func(s *scenario.Scenario, r *rand.Rand, dir string) outcome
	// fits reports whether the variant has the same results; nil: always
	fits func(*scenario.Scenario) bool
	// differ compares; nil: Differ
	differ func(claimed, found *results.Run) *Difference
}

// made returns the runs of a scenario with options.
func made(s *scenario.Scenario, o experiment.Options) outcome {
	return recorded(o, func(o experiment.Options) error { return experiment.Run(ctx(), s.Experiments, o) })
}

// ctx is that of runs of drawn scenarios, of which none takes long.
func ctx() context.Context { return context.Background() }

// recorded returns the runs that a call records.
func recorded(o experiment.Options, call func(experiment.Options) error) outcome {
	var rec recorder
	o.Recorder = &rec
	if o.Clock == nil {
		o.Clock = time.Now
	}
	err := call(o)
	return outcome{rec.all(), err}
}

// variants are all ways but the first, one worker.
func variants() []variant {
	options := func(name string, o experiment.Options) variant {
		return variant{name: name, make: func(s *scenario.Scenario, _ *rand.Rand, _ string) outcome {
			return made(s, o)
		}}
	}
	again := func(s *scenario.Scenario, _ *rand.Rand, _ string) outcome {
		return made(s, experiment.Options{Workers: 1})
	}
	list := []variant{options("2 workers", experiment.Options{Workers: 2}),
		options("8 workers", experiment.Options{Workers: 8})}
	for _, queue := range engine.Queues()[1:] {
		list = append(list, options("queue "+queue, experiment.Options{Workers: 1, Queue: queue}))
	}
	journal := func(*scenario.RunSpec, int) federation.Journal { return unread{} }
	list = append(list, options("journal", experiment.Options{Workers: 1, Journal: journal}),
		variant{name: "rows by device", over: []string{"run.devices=true"}, make: again},
		variant{name: "no rows by device", over: []string{"run.devices=false"}, make: again},
		variant{name: "rows made again", over: []string{"data.resident=false"}, make: again},
		variant{name: "timing", over: []string{"run.mode=timing", "run.save_model=false"}, make: again, fits: evenWork,
			differ: differInTime},
		variant{name: "lazy", both: []string{"run.mode=timing", "run.save_model=false"},
			over: []string{"federation.population=lazy"}, make: again, differ: differInRounds},
		variant{name: "timing, 2 workers", both: []string{"run.mode=timing", "run.save_model=false"},
			make: func(s *scenario.Scenario, _ *rand.Rand, _ string) outcome {
				return made(s, experiment.Options{Workers: 2})
			}},
		variant{name: "checkpoints", make: interruptedRuns(0)}, variant{name: "resumed", make: interruptedRuns(3)},
		variant{name: "items", make: byItems}, variant{name: "directory", make: throughDirectory})
	for command := range strings.SplitSeq(*otherPrograms, ",") {
		if command = strings.TrimSpace(command); command != "" {
			list = append(list, variant{name: command, make: otherProgram(strings.Fields(command), false)},
				variant{name: "killed " + command, make: otherProgram(strings.Fields(command), true)})
		}
	}
	return list
}

// unread is a journal that nobody reads.
type unread struct{}

func (unread) Note(federation.Entry) {}

// interruptedRuns saves checkpoints after each round, and interrupts and resumes the runs so many times at drawn ones.
func interruptedRuns(times int) func(*scenario.Scenario, *rand.Rand, string) outcome {
	return func(s *scenario.Scenario, r *rand.Rand, dir string) outcome {
		store := &checkpointtest.Store{Dir: dir}
		rec := &resumed{}
		for times := times; ; times-- {
			c, cancel := context.WithCancel(ctx())
			var left atomic.Int32
			left.Store(int32(1 + r.IntN(8)))
			store.Saved = func(string, []byte) {
				if left.Add(-1) == 0 && times > 0 {
					cancel()
				}
			}
			o := experiment.Options{Workers: 1 + r.IntN(2), Recorder: rec, Clock: time.Now,
				Checkpoints: experiment.CheckpointPolicy{Store: store, Clock: time.Now}}
			err := experiment.Run(c, s.Experiments, o)
			cancel()
			if !errors.Is(err, context.Canceled) {
				return outcome{rec.all(), err}
			}
		}
	}
}

// resumed is a recorder that knows which runs have ended.
type resumed struct{ recorder }

func (r *resumed) Done(id string) bool {
	return slices.ContainsFunc(r.all(), func(run results.Run) bool {
		return run.ID == id && run.Status != results.Interrupted
	})
}

// byItems makes the items of a plan one by one, as workers do, with states in a common store.
func byItems(s *scenario.Scenario, r *rand.Rand, dir string) outcome {
	items, err := experiment.Items(ctx(), s, 0, nil)
	if err != nil {
		return outcome{err: err}
	}
	shared := experiment.Shared{Store: &checkpointtest.Store{Dir: dir}}
	var parts recorder
	for i := range items {
		o := experiment.Options{Workers: 1 + r.IntN(3), Clock: time.Now, Recorder: &parts}
		if err := experiment.Do(ctx(), s, items[i].Kind, items[i].Of, o, shared); err != nil {
			return outcome{parts.all(), err}
		}
	}
	return outcome{parts.all(), nil}
}

// throughDirectory writes a run directory and reads it again.
func throughDirectory(s *scenario.Scenario, _ *rand.Rand, dir string) outcome {
	o := into.Options{Dir: filepath.Join(dir, "run"), NoFigures: true}
	if _, err := into.Run(ctx(), s, o); err != nil {
		return outcome{err: err}
	}
	there, err := rundir.Read(o.Dir)
	if err != nil {
		return outcome{err: err}
	}
	return outcome{there.Runs, nil}
}

// otherProgram runs the scenario with a command, and reads its directory. It may be killed after a drawn time and
// resumed, until it ends.
func otherProgram(command []string, kills bool) func(*scenario.Scenario, *rand.Rand, string) outcome {
	return func(s *scenario.Scenario, r *rand.Rand, dir string) outcome {
		source, err := s.Resolved()
		if err != nil {
			return outcome{err: err}
		}
		file, to := filepath.Join(dir, "drawn.toml"), filepath.Join(dir, "other")
		if err := os.WriteFile(file, source, 0o666); err != nil {
			return outcome{err: err}
		}
		start := []string{"run", file, "--out", to, "--force"}
		for longest := 40; ; longest += longest / 4 {
			life := time.Minute
			if kills {
				life = time.Duration(r.IntN(longest)) * time.Millisecond
			}
			c, cancel := context.WithTimeout(ctx(), life)
			args := slices.Concat(command[1:], start, []string{"--quiet", "--no-figures"})
			out, err := exec.CommandContext(c, command[0], args...).CombinedOutput()
			killed := c.Err() != nil
			cancel()
			exit, _ := errors.AsType[*exec.ExitError](err)
			switch ended := exit != nil && exit.ExitCode() >= 0; {
			case kills && killed && err != nil && !ended:
				if log, err := os.Stat(filepath.Join(to, ".unfinished", "run.log")); err == nil && log.Size() > 0 {
					start = []string{"run", "--resume", to}
				}
				continue
			case err != nil && !(ended && exit.ExitCode() == 3):
				return outcome{err: fmt.Errorf("%w: %s", err, out)}
			}
			break
		}
		there, err := rundir.Read(to)
		if err != nil {
			return outcome{err: err}
		}
		return outcome{there.Runs, nil}
	}
}

// evenWork reports whether the work of all methods is known without the model, and nothing in the settings depends
// on losses: runs that learn have the events of runs that only take time.
func evenWork(s *scenario.Scenario) bool {
	for j := range scenario.Jobs(s.Experiments) {
		about := j.Candidates[0].Describe(mtl.Shape{Features: 3, Outputs: 1})
		if about.Work.Steps == nil || about.Needs.Dual && about.Work.Epochs > 0 || len(about.Metrics) > 0 {
			return false
		}
	}
	return true
}

// differInTime compares the events alone.
func differInTime(claimed, found *results.Run) *Difference {
	if claimed.EventHash != found.EventHash {
		return &Difference{claimed.ID, -1, "event_hash", results.Hash(claimed.EventHash).String(),
			results.Hash(found.EventHash).String()}
	}
	return nil
}

// differInRounds compares rounds, but not available clients, which a lazy population does not count.
func differInRounds(claimed, found *results.Run) *Difference {
	for _, r := range []*results.Run{claimed, found} {
		for i := range r.Rounds {
			r.Rounds[i].Available = results.UnknownCount
		}
	}
	return Differ(claimed, found)
}

// trial makes the runs of a drawn scenario in two ways and says how they differ. skipped is true where the variant
// does not apply.
func (v *variant) trial(d *drawn, base outcome, seed uint64, dir string) (text string, skipped bool) {
	s, err := d.parse(slices.Concat(v.both, v.over)...)
	if err != nil {
		return "", true
	}
	if v.both != nil {
		of, err := d.parse(v.both...)
		if err != nil {
			return "", true
		}
		if base = made(of, experiment.Options{Workers: 1}); base.err != nil {
			return "", true
		}
	}
	if v.fits != nil && !v.fits(s) {
		return "", true
	}
	found := v.make(s, rand.New(rand.NewPCG(seed, 0x76)), dir)
	switch {
	case v.over != nil && found.err != nil && base.err == nil && isRefusal(found.err):
		return "", true
	case v.name == "timing" && base.err != nil: // there may be no model to learn
		return "", true
	case (base.err == nil) != (found.err == nil):
		return fmt.Sprintf("errors: %v, but %v", base.err, found.err), false
	case base.err != nil:
		return "", false
	case len(found.runs) != len(base.runs):
		return fmt.Sprintf("%d runs, but %d", len(base.runs), len(found.runs)), false
	}
	differ := v.differ
	if differ == nil {
		differ = Differ
	}
	for i := range base.runs {
		if d := differ(&base.runs[i], &found.runs[i]); d != nil {
			return d.String(), false
		}
	}
	return "", false
}

// isRefusal reports whether an error says that a scenario cannot be run in that way, before its first round.
func isRefusal(err error) bool {
	return strings.Contains(err.Error(), "starting ") || strings.Contains(err.Error(), ": must be ")
}

// wrong returns what no run may have: a duality gap below rounding, a clock that goes back, counts that do not add up.
func wrong(r *results.Run) string {
	last := 0.0
	for i := range r.Rounds {
		x := &r.Rounds[i]
		switch {
		case x.TimeS < last:
			return fmt.Sprintf("round %d ends at %g s, before %g s", x.Round, x.TimeS, last)
		case x.Gap < -1e-9*math.Max(1, math.Abs(x.Primal)):
			return fmt.Sprintf("round %d has the gap %g of P = %g", x.Round, x.Gap, x.Primal)
		case x.EnergyJ < 0:
			return fmt.Sprintf("round %d has %g J", x.Round, x.EnergyJ)
		}
		last = x.TimeS
	}
	return ""
}

// Scenarios that are drawn from all keys, methods, protocols and selections have the same bits in every way to make
// them. A seed makes a scenario again: -first SEED -differences 1. "make differences" goes on where it
// stopped.
func TestDifferences(t *testing.T) {
	count := *drawnScenarios
	if testing.Short() {
		count = min(count, 3)
	}
	all, pairs, used := variants(), map[string]int{}, map[string]int{}
	began, seed, refused, failed := time.Now(), *firstSeed, 0, map[string]int{}
	for ; *forTime == 0 && seed < *firstSeed+uint64(count) || *forTime > 0 && time.Since(began) < *forTime; seed++ {
		d, err := draw(seed)
		if err != nil {
			refused++
			continue
		}
		s, err := d.parse()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		base := made(s, experiment.Options{Workers: 1})
		if _, err := experiment.Check(ctx(), s.Experiments); err != nil {
			if refused++; base.err == nil {
				t.Errorf("seed %d is refused before it runs, but can be made: %v\n%s", seed, err, d)
			}
			continue
		}
		if base.err != nil {
			failed[strings.Join(strings.Fields(base.err.Error()), " ")]++
		}
		for i := range base.runs {
			if text := wrong(&base.runs[i]); text != "" {
				t.Errorf("seed %d: run %s: %s\n%s", seed, base.runs[i].ID, text, d)
			}
		}
		for _, m := range d.methods {
			used[m]++
		}
		if d.grid != nil {
			used[strings.Join(strings.Fields(strings.Join(d.grid, " "))[:1], "")]++
		}
		for _, x := range d.settings {
			if table, _, ok := strings.Cut(x.key, "."); ok {
				used["["+table+"]"]++
			}
		}
		for k := range all {
			v := &all[k]
			text, skipped := v.trial(d, base, seed, t.TempDir())
			if !skipped {
				pairs[v.name]++
			}
			if text == "" {
				continue
			}
			fails := func(d *drawn) bool {
				s, err := d.parse()
				if err != nil {
					return false
				}
				text, _ := v.trial(d, made(s, experiment.Options{Workers: 1}), seed, t.TempDir())
				return text != ""
			}
			small := d.shrink(fails)
			t.Errorf("seed %d, %s: %s\nthe least scenario that differs:\n%s", seed, v.name, text, small)
		}
		if t.Failed() && *forTime == 0 && count > 1000 {
			break
		}
	}
	t.Logf("%d scenarios in %.0f s, %d refused, %d errors; next: -first %d", seed-*firstSeed,
		time.Since(began).Seconds(), refused, len(failed), seed)
	for _, list := range []map[string]int{pairs, used, failed} {
		names := make([]string, 0, len(list))
		for name := range list {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			names[i] = fmt.Sprintf("%s %d", name, list[name])
		}
		t.Log(strings.Join(names, ", "))
	}
}
