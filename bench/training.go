package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"fedsim/bench/runs"
)

// The federation of all training: McMahan et al. (AISTATS 2017), section 3, with 10 % of the
// clients, two shards of MNIST each, and one local epoch.
const (
	cohortRows = 10 * 600 // of a round
	noise      = 0.01     // of the accuracy of a run whose mini-batches have another order
)

// training is the work of a race of whole runs: a model, a batch size, and the rounds after which
// the test accuracy of the model first reaches a level.
type training struct {
	title, model  string
	batch, rounds int
	level         float64
}

func (tr training) name() string { return fmt.Sprintf("%s, batch %d", tr.title, tr.batch) }

// builtIn reports whether fedsim has the model. Otherwise PyTorch computes its gradients.
func (tr training) builtIn() bool { return tr.model != "lenet5" }

var trainings = []training{
	{"softmax", "softmax", 10, 45, 0.88},
	{"softmax", "softmax", 32, 45, 0.88},
	{"784-128-10", "mlp", 10, 33, 0.88},
	{"784-128-10", "mlp", 32, 33, 0.86},
	{"LeNet-5", "lenet5", 10, 15, 0.88},
	{"LeNet-5", "lenet5", 32, 25, 0.82},
}

// The names of the programs of a race of training.
const (
	oneWorker  = "fedsim"
	twoWorkers = "fedsim, 2 workers"
	numpyLoop  = "NumPy loop"
	torchLoop  = "PyTorch loop"
	torchTwo   = "PyTorch loop, 2 threads"
	flower     = "Flower simulation"
	flgo       = "FLGo"
	pfl        = "pfl-research"
)

// figures are the result of a run.
type figures struct {
	rate     float64 // rows for a second after the first round
	first    float64 // seconds from the start of the program to the end of the first round
	total    float64 // seconds from its start to its end
	memory   float64 // peak of all processes, bytes
	accuracy float64 // on the test rows, at the end
	program  string  // versions
}

// trainer runs a training with a program and keeps the figures.
type trainer struct {
	name string
	run  func() (figures, error)
	took []figures
}

// of returns a figure by repetition.
func (t *trainer) of(figure func(figures) float64) []float64 {
	values := make([]float64, len(t.took))
	for k, f := range t.took {
		values[k] = figure(f)
	}
	return values
}

func rate(f figures) float64    { return f.rate }
func first(f figures) float64   { return f.first }
func total(f figures) float64   { return f.total }
func most(f figures) float64    { return f.memory }
func reached(f figures) float64 { return f.accuracy }

// trainingRace compares whole runs of federated averaging.
type trainingRace struct {
	out, log    io.Writer
	folder      string // temporary
	fedsim      runs.Program
	tools       trainingTools
	quick       bool
	repetitions int
	only        *regexp.Regexp
	programs    []string // with versions, of all runs
	goals       [][]string
}

// compareTraining prints the tables of training with programs whose names, such as "LeNet-5, batch
// 10, FLGo", match only. It logs each run.
func compareTraining(out, log io.Writer, repetitions int, only string, quick bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "fedsim-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := runs.Build(folder)
	if err != nil {
		return err
	}
	tools, missing := findTrainingTools()
	r := &trainingRace{out: out, log: log, folder: folder, fedsim: program, tools: tools,
		quick: quick, repetitions: repetitions, only: pattern}
	fmt.Fprintf(out, "%s, %d processors, %s; medians of %d repetitions in turn\n\n",
		processor(), runtime.GOMAXPROCS(0), runtime.Version(), repetitions)
	t := newTable(out,
		[]column{{"work", 20, false}, {"program", 23, false}, {"examples/s", 10, true}, {"quartiles", 16, false},
			{"first round", 11, true}, {"to the level", 12, true}, {"memory", 8, true}, {"accuracy", 8, true}})
	for _, w := range trainings {
		if quick {
			w.rounds, w.level = 3, 0
		}
		if err := r.compare(t, w); err != nil {
			return fmt.Errorf("%s: %w", w.name(), err)
		}
	}
	if len(r.goals) > 0 {
		fmt.Fprintln(out)
		t = newTable(out,
			[]column{{"goal", 72, false}, {"ratio", 6, true}, {"range", 15, false}, {"at least", 11, false}})
		for _, row := range r.goals {
			t.row(row...)
		}
	}
	fmt.Fprintln(out)
	for _, p := range r.programs {
		fmt.Fprintln(out, p)
	}
	for _, m := range missing {
		fmt.Fprintln(out, "skipped:", m)
	}
	return nil
}

// compare adds the rows of a training.
func (r *trainingRace) compare(t table, w training) error {
	trainers, err := r.trainers(w)
	if err != nil || len(trainers) == 0 {
		return err
	}
	var contestants []contestant
	for _, c := range trainers {
		contestants = append(contestants, contestant{c.name, func() (float64, error) {
			f, err := c.run()
			if err != nil {
				return 0, err
			}
			c.took = append(c.took, f)
			fmt.Fprintf(r.log, "%s, %s: %s s, %s examples/s, first round after %s s, %.0f MiB, accuracy %.1f %%\n",
				w.name(), c.name, digits(f.total), digits(f.rate), digits(f.first), f.memory/(1<<20), 100*f.accuracy)
			if !slices.Contains(r.programs, f.program) {
				r.programs = append(r.programs, f.program)
			}
			return f.total, nil
		}})
	}
	if _, err := race(r.repetitions, contestants); err != nil {
		return err
	}
	counts := trainers[:0:0]
	reference := spreadOf(trainers[0].of(reached)).median
	for _, c := range trainers {
		accuracy := spreadOf(c.of(reached)).median
		cells := []string{w.name(), c.name, "-", "does not count", "-", "-", "-", fmt.Sprintf("%.1f %%", 100*accuracy)}
		if math.Abs(accuracy-reference) <= noise && accuracy > w.level-noise {
			counts = append(counts, c)
			speed := spreadOf(c.of(rate))
			cells[2], cells[3] = digits(speed.median), digits(speed.low)+" to "+digits(speed.high)
			cells[4], cells[5] = digits(spreadOf(c.of(first)).median)+" s", digits(spreadOf(c.of(total)).median)+" s"
			cells[6] = fmt.Sprintf("%.0f MiB", spreadOf(c.of(most)).median/(1<<20))
		}
		t.row(cells...)
	}
	r.judge(w, counts)
	return nil
}

// judge compares the programs that count with the goals.
func (r *trainingRace) judge(w training, counts []*trainer) {
	named := func(names ...string) (found []*trainer) {
		for _, c := range counts {
			if slices.Contains(names, c.name) {
				found = append(found, c)
			}
		}
		return found
	}
	goal := func(text string, figure func(figures) float64, ours, theirs []*trainer, bar float64, lower bool) {
		if len(ours) == 0 || len(theirs) == 0 {
			return
		}
		best := slices.MaxFunc(theirs, func(a, b *trainer) int {
			if lower {
				a, b = b, a
			}
			return int(math.Copysign(1, spreadOf(a.of(figure)).median-spreadOf(b.of(figure)).median))
		})
		ratio := ratios(ours[0].of(figure), best.of(figure))
		if lower {
			ratio = ratios(best.of(figure), ours[0].of(figure))
		}
		demand := digits(bar)
		if ratio.median < bar {
			demand += ", missed"
		}
		r.goals = append(r.goals, []string{fmt.Sprintf("%s: %s, against %s", w.name(), text, best.name),
			digits(ratio.median), digits(ratio.low) + " to " + digits(ratio.high), demand})
	}
	one, two := named(oneWorker), named(twoWorkers)
	if w.builtIn() {
		goal("examples/s", rate, one, named(numpyLoop, torchLoop, torchTwo), 1, false)
	} else {
		goal("examples/s, 2 workers", rate, two, named(torchLoop), 1.6, false)
		goal("examples/s, 2 workers", rate, two, named(torchLoop, torchTwo), 1, false)
	}
	goal("end to end, 2 workers", total, two, named(flower), 5, true)
	goal("memory, 2 workers", most, two, named(flower), 2, true)
	goal("end to end, 2 workers", total, two, named(flgo), 1, true)
	goal("memory, 2 workers", most, two, named(flgo), 0, true)
}

// trainers returns the programs of a training that are installed, those of fedsim first.
func (r *trainingRace) trainers(w training) ([]*trainer, error) {
	wanted := func(name string) bool { return r.only.MatchString(w.name() + ", " + name) }
	var all []*trainer
	for workers, name := range []string{oneWorker, twoWorkers} {
		if wanted(name) && (w.builtIn() || r.tools.torch != "") {
			all = append(all, &trainer{name: name, run: func() (figures, error) { return r.runFedsim(w, workers+1) }})
		}
	}
	for _, p := range []struct {
		name, python, script string
		more                 []string
	}{
		{numpyLoop, r.tools.numpy, "with_numpy.py", nil},
		{torchLoop, r.tools.torch, "with_torch.py", []string{"1"}},
		{torchTwo, r.tools.torch, "with_torch.py", []string{"2"}},
		{flower, r.tools.flower, "with_flower.py", nil},
		{flgo, r.tools.flgo, "with_flgo.py", nil},
		{pfl, r.tools.pfl, "with_pfl.py", nil},
	} {
		if p.python == "" || !wanted(p.name) || (p.name == numpyLoop && !w.builtIn()) {
			continue
		}
		arguments, err := r.task(w)
		if err != nil {
			return nil, err
		}
		arguments = append(append([]string{filepath.Join("training", p.script)}, arguments...), p.more...)
		all = append(all, &trainer{name: p.name, run: func() (figures, error) {
			c := r.tools.command(p.python, arguments...)
			if p.name == torchTwo {
				c.Env = append(c.Env, "OMP_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=2")
			}
			return runPeer(c)
		}})
	}
	return all, nil
}

// scenario writes the scenario of a training for fedsim and returns its path. command is the
// program of an external model.
func (r *trainingRace) scenario(w training, rounds int, command ...string) (string, error) {
	model := `loss = "softmax"`
	if w.model == "mlp" {
		model += fmt.Sprintf("\nmodel = \"mlp\"\nmodel_options.hidden = [%d]", hiddenUnits)
	}
	if len(command) > 0 {
		model = fmt.Sprintf("model = \"external\"\nprogram.command = [\"%s\"]", strings.Join(command, `", "`))
	}
	text := fmt.Sprintf(trainingScenario, rounds, w.batch, model)
	path := filepath.Join(r.folder, "training.toml")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

const trainingScenario = `name = "training"

[data]
source = "idx"
path = "mnist"
target = "classes"
pool = true
precision = "float32"
partition = { method = "shards", clients = 100, shards = 2 }

[federation]
clients_per_round = 10

[run]
rounds = %[1]d
eval_every = %[1]d

[methods.fedavg]
options = { batch = %[2]d, step = 0.05 }

[problem]
regularizer = "independent"
optimum.when = "never"
%[3]s
`
