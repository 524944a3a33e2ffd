package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedsim/data"
	"fedsim/results/rundir"
)

// runLimit is the longest time of a run of a program in a race of training.
const runLimit = 10 * time.Minute

// trainingTools are the Pythons that have the modules of the peers. An empty one is missing.
type trainingTools struct {
	numpy, torch, flower, flgo, pfl string
	paths                           string // PYTHONPATH
}

// findTrainingTools looks in the folders of install-peers and then for the Pythons of the system.
func findTrainingTools() (t trainingTools, missing []*notInstalled) {
	root, _ := filepath.Abs("..")
	t.paths = filepath.Join(root, "python", "src") + string(os.PathListSeparator) +
		filepath.Join(root, "bench", "training")
	for _, tool := range []struct {
		python             *string
		name, env, modules string
	}{
		{&t.numpy, "NumPy", ".numpy", "numpy"},
		{&t.torch, "PyTorch", ".venv", "torch, numpy"},
		{&t.flower, "Flower", ".venv", "torch, flwr, ray"},
		{&t.flgo, "FLGo", ".venv", "torch, torchvision, flgo"},
		{&t.pfl, "pfl-research", ".venv", "torch, pfl"},
	} {
		own := filepath.Join(root, "bench", "training", tool.env, "bin", "python")
		for _, python := range []string{own, "/usr/bin/python3", "python3"} {
			if path, err := exec.LookPath(python); err == nil &&
				t.command(path, "-c", "import "+tool.modules).Run() == nil {
				*tool.python = path
				break
			}
		}
		if *tool.python == "" {
			missing = append(missing, &notInstalled{tool.name, "bench/install-peers training"})
		}
	}
	return t, missing
}

// command returns the command of a Python whose libraries have one thread. Settings of OpenBLAS in
// the environment are for old releases, which do not know all processors: NumPy's own Python has
// a new one.
func (t *trainingTools) command(python string, arguments ...string) *exec.Cmd {
	c := exec.Command(python, arguments...)
	c.Env = append(os.Environ(), "PYTHONPATH="+t.paths, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1",
		"OPENBLAS_NUM_THREADS=1")
	if strings.Contains(python, filepath.Join("training", ".numpy")) {
		c.Env = slices.DeleteFunc(c.Env, func(e string) bool {
			return strings.HasPrefix(e, "OPENBLAS_CORETYPE=") || strings.HasPrefix(e, "OPENBLAS_L2_SIZE=")
		})
	}
	return c
}

// message is a line that a program in a race of training prints: those of task.py, or of fedsim's
// progress.
type message struct {
	Program  string
	Round    int
	Accuracy *float64
	Share    float64
}

// follow runs a command and returns its figures. round returns the number of rounds that a message
// says are done, 0: none.
func follow(c *exec.Cmd, round func(message) int) (f figures, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	limited := exec.CommandContext(ctx, c.Path, c.Args[1:]...)
	limited.Env, limited.WaitDelay = c.Env, 5*time.Second
	read, write, err := os.Pipe()
	if err != nil {
		return f, err
	}
	defer read.Close()
	limited.Stdout, limited.Stderr = write, write
	begin := time.Now()
	if err := limited.Start(); err != nil {
		return f, errors.Join(err, write.Close())
	}
	_ = write.Close() // the process has it
	stop := make(chan struct{})
	peak := peakMemory(limited.Process.Pid, stop)
	said := make(chan []string, 1)
	f.rate, f.first, f.accuracy = math.NaN(), math.NaN(), math.NaN()
	go func() { said <- f.read(read, begin, round) }()
	err = limited.Wait()
	f.total = time.Since(begin).Seconds()
	close(stop)
	lines := <-said
	f.memory = <-peak
	if err != nil {
		return f, fmt.Errorf("%w: %s", err, strings.Join(lines, "\n"))
	}
	return f, nil
}

// read takes messages until the end of the output, and returns its last other lines.
func (f *figures) read(from io.Reader, begin time.Time, round func(message) int) (last []string) {
	var at []float64 // ends of rounds, and their numbers
	var done []int
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			last = append(last[max(0, len(last)-20):], lines.Text())
			continue
		}
		if m.Program != "" {
			f.program = m.Program
		}
		if m.Accuracy != nil {
			f.accuracy = *m.Accuracy
		}
		if n := round(m); n > 0 {
			at, done = append(at, time.Since(begin).Seconds()), append(done, n)
		}
	}
	if n := len(at) - 1; n > 0 {
		each := (at[n] - at[0]) / float64(done[n]-done[0])
		f.rate = cohortRows / each
		f.first = at[0] - float64(done[0]-1)*each
	}
	return last
}

// runPeer runs a program that prints the messages of task.py.
func runPeer(c *exec.Cmd) (figures, error) {
	f, err := follow(c, func(m message) int { return m.Round })
	if err == nil && (math.IsNaN(f.first) || math.IsNaN(f.accuracy)) {
		err = fmt.Errorf("%s ended without its rounds and accuracy", strings.Join(c.Args, " "))
	}
	return f, err
}

// runFedsim runs a training with fedsim. Its lines of progress come at ends of rounds, but not
// at all: the end of the first round follows from the first line and the time of a round.
func (r *trainingRace) runFedsim(w training, workers int) (figures, error) {
	var command []string
	if !w.builtIn() {
		command = []string{r.tools.torch, filepath.Join(r.tools.training(), "modules.py"), w.model}
	}
	scenario, err := r.scenario(w, w.rounds, command...)
	if err != nil {
		return figures{}, err
	}
	dir := filepath.Join(r.folder, "run")
	c := r.tools.command(string(r.fedsim), "run", scenario, "--out", dir, "--force", "--progress", "json",
		"--no-figures", "--allow-external", "--checkpoint", "0", "--workers", strconv.Itoa(workers))
	f, err := follow(c, func(m message) int {
		if m.Share >= 1 { // after the evaluation of the last round
			return 0
		}
		return int(math.Round(m.Share * float64(w.rounds)))
	})
	if err != nil {
		return f, err
	}
	found, err := rundir.Read(dir)
	if err != nil {
		return f, err
	}
	rounds := found.Runs[0].Rounds
	f.accuracy, f.program = 1-rounds[len(rounds)-1].TestError, "fedsim of this repository"
	return f, nil
}

func (t *trainingTools) training() string {
	return t.paths[strings.IndexByte(t.paths, os.PathListSeparator)+1:]
}

// task returns the arguments that task.py takes. It records the rows and the mini-batches of fedsim
// the first time.
func (r *trainingRace) task(w training) ([]string, error) {
	most := 0
	for _, other := range trainings {
		if other.batch == w.batch {
			most = max(most, other.rounds)
		}
	}
	if r.quick {
		most = w.rounds
	}
	file := filepath.Join(r.folder, fmt.Sprintf("task%d.npz", w.batch))
	if _, err := os.Stat(file); err != nil {
		scenario, err := r.scenario(w, most, cmp.Or(r.tools.torch, r.tools.numpy),
			filepath.Join(r.tools.training(), "record.py"), file)
		if err != nil {
			return nil, err
		}
		c := r.tools.command(string(r.fedsim), "run", scenario, "--out", filepath.Join(r.folder, "recorded"), "--force",
			"--quiet", "--no-figures", "--allow-external", "--workers", "1")
		if text, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("recording mini-batches: %w: %s", err, text)
		}
	}
	first, err := r.firstValues(w)
	return []string{file, w.model, strconv.Itoa(w.batch), strconv.Itoa(w.rounds), first}, err
}

// firstValues writes the first values of a network of fedsim to a file and returns its path; "-":
// the model has those of PyTorch, or begins at zero.
func (r *trainingRace) firstValues(w training) (string, error) {
	if w.model != "mlp" {
		return "-", nil
	}
	rows := data.Client{X: data.NewMatrix(digitsCount, pixels)}
	set := &data.Set{Name: "shape", Features: pixels}
	for c := range digitsCount {
		rows.Y, set.Classes = append(rows.Y, float64(c)), append(set.Classes, strconv.Itoa(c))
	}
	set.Clients = []data.Client{rows}
	l, err := newLearner(set, true, w.batch)
	if err != nil {
		return "", err
	}
	first := make([]float64, l.problem.Values())
	l.problem.Initial(1, first)
	path := filepath.Join(r.folder, "first")
	text, err := binary.Append(nil, binary.NativeEndian, first)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o600)
}
