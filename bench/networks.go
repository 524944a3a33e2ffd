package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/algorithms/methods"
	"fedsim/data"
	_ "fedsim/data/formats"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// The local work of FedAvg on the rows of MNIST: a pass of mini-batch SGD on one core.
const (
	networkStep = 0.01
	hiddenUnits = 128
	networkRows = 60_000 // of generated data
	pixels      = 784
	digitsCount = 10
)

// mnist returns the training images of MNIST, from FEDSIM_DATA or ../shared/data beside the
// repository, or random rows of the same shape.
func mnist() (set *data.Set, what string, err error) {
	for _, dir := range []string{os.Getenv("FEDSIM_DATA"), "../../shared/data"} {
		path := filepath.Join(dir, "mnist")
		if _, err := os.Stat(path); dir == "" || err != nil {
			continue
		}
		cfg := data.Defaults()
		cfg.Source, cfg.Path, cfg.Target, cfg.Bias, cfg.Standardize = data.SourceIDX, path, data.TargetClasses, false,
			false
		split, err := data.Prepare(cfg)
		if err != nil {
			return nil, "", err
		}
		return split.Train, "MNIST", nil
	}
	draws := rng.New(1, rng.Synthetic, networkRows, pixels)
	task := data.Client{X: data.NewMatrix(networkRows, pixels), Y: make([]float64, networkRows)}
	for i := range networkRows {
		for j := range pixels {
			task.X.Row(i)[j] = draws.Float64()
		}
		task.Y[i] = float64(draws.IntN(digitsCount))
	}
	set = &data.Set{Name: "random", Features: pixels, Clients: []data.Client{task}}
	for c := range digitsCount {
		set.Classes = append(set.Classes, strconv.Itoa(c))
	}
	return set, "random rows", nil
}

// learner is one device that has all rows, with the local work of FedAvg. The server takes
// each response: FedBuff with a buffer of one.
type learner struct {
	problem *mtl.Problem
	batch   int
	last    algorithms.Model
}

func newLearner(set *data.Set, network bool, batch int) (*learner, error) {
	cfg := mtl.Defaults()
	cfg.Loss, cfg.Regularizer = mtl.LossSoftmax, mtl.RegIndependent
	if network {
		cfg.Model, cfg.Hidden = mtl.ModelMLP, mtl.Widths{hiddenUnits}
	}
	problem, err := mtl.NewProblem(cfg,
		data.Split{Train: set, Test: &data.Set{Features: set.Features, Classes: set.Classes}})
	return &learner{problem: problem, batch: batch}, err
}

// epoch is a pass from the start, and returns its nanoseconds.
func (l *learner) epoch() (float64, error) {
	factory, _ := algorithms.Lookup("fedbuff")
	coupling, err := l.problem.Regularizer.Start(nil, 1)
	if err != nil {
		return 0, err
	}
	options := methods.FedBuffOptions{
		AverageOptions: kit.AverageOptions{
			LocalSGDOptions: kit.LocalSGDOptions{Epochs: 1, Batch: l.batch, Step: networkStep, Shuffle: true},
			Weights:         "rows",
		},
		Buffer: 1, ServerStep: 1,
	}
	method, err := factory.Start(algorithms.Setup{Problem: l.problem, Shape: l.problem.Shape, Coupling: coupling,
		Workers: 1, Seed: 1}, &options)
	if err != nil {
		return 0, err
	}
	_, _ = method.Begin()
	begin := time.Now()
	method.Solve(algorithms.Request{Steps: algorithms.NoLimit, Stream: passStream()})
	took := time.Since(begin)
	method.Commit(0, 1)
	_, _ = method.End()
	l.last = method.Model()
	return float64(took), nil
}

func passStream() rng.Stream { return rng.New(1, rng.Solve, 0, 0) }

// python is a process that does the same in NumPy.
type python struct {
	*child
	numpy, sklearn string // names; sklearn is "none" if it is not installed
}

func newPython(l *learner, set *data.Set) (*python, error) {
	program, err := pythonWith("sklearn") // it needs NumPy
	if err != nil {
		program, err = pythonWith("numpy")
	}
	if err != nil {
		return nil, notInstalled{"NumPy", "apt-get install python3-numpy python3-sklearn libopenblas0-pthread"}
	}
	text, err := sources.ReadFile("programs/networks.py")
	if err != nil {
		return nil, err
	}
	task := &set.Clients[0]
	rows := task.X.Rows
	var x []float64
	for i := range rows {
		x = append(x, task.X.Values(i, make([]float64, task.X.Cols))...)
	}
	var order mtl.Order
	order.Reset(rows, passStream())
	visits := make([]float64, rows)
	for k := range visits {
		visits[k] = float64(order.Next())
	}
	first := make([]float64, l.problem.Values())
	l.problem.Initial(1, first)
	head := fmt.Sprintf("%d %d %d %d", rows, task.X.Cols, l.problem.Outputs, hiddenUnits)
	c, err := startChild(exec.Command(program, "-c", string(text)), head, x, task.Y, visits, first)
	if err != nil {
		return nil, err
	}
	numpy, sklearn, _ := strings.Cut(c.name, ",")
	return &python{c, numpy, sklearn}, nil
}

func (p *python) values() ([]float64, error) { return askAll(p.child, "values", parseFloat) }

// trainers are the contestants of the comparison of networks.
type trainers struct {
	softmax, network *learner
	numpy            *python
	rows             string // description for the table
}

func newTrainers() (*trainers, error) {
	set, what, err := mnist()
	if err != nil {
		return nil, err
	}
	softmax, err := newLearner(set, false, 10)
	if err != nil {
		return nil, err
	}
	network, err := newLearner(set, true, 32)
	if err != nil {
		return nil, err
	}
	numpy, err := newPython(network, set)
	return &trainers{softmax, network, numpy, what}, err
}

// compareNetworks adds the rows of mini-batch SGD if its name contains only. It returns the
// missing peers.
func compareNetworks(t table, repetitions int, only string) (missing []*notInstalled, err error) {
	const work = "SGD epoch"
	if !strings.Contains(work, only) {
		return nil, nil
	}
	all, err := newTrainers()
	if m, failure := leftOut(err); m != nil || failure != nil {
		return []*notInstalled{m}, failure
	}
	defer all.numpy.close()
	peer := func(command string) func() (float64, error) {
		return func() (float64, error) { return all.numpy.askNumber("%s", command) }
	}
	contestants := []contestant{{"softmax", all.softmax.epoch}, {all.numpy.numpy, peer("softmax")},
		{"network", all.network.epoch}, {all.numpy.numpy, peer("mlp")}}
	classifier := all.numpy.sklearn != "none"
	if classifier {
		contestants = append(contestants, contestant{all.numpy.sklearn, peer("sgd")})
	} else {
		missing = append(missing, &notInstalled{"scikit-learn", "apt-get install python3-sklearn"})
	}
	took, err := race(repetitions, contestants)
	if err != nil {
		return nil, err
	}
	softmax := work + ", softmax, " + all.rows
	t.add(softmax, milliseconds, took[0], contestants[1].name, took[1], 1)
	if classifier {
		t.add(softmax, milliseconds, took[0], contestants[4].name, took[4], 4)
	}
	t.add(work+", 784-128-10, "+all.rows, milliseconds, took[2], contestants[3].name, took[3], 1/1.5)
	return missing, nil
}
