package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"fedsim/data"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// task is the work of a solver: dual coordinate ascent for a linear model with dense rows,
//
//	min over w of 1/2 |w|^2 + C sum_i loss(w.x_i, y_i).
//
// It makes warm passes over the rows and then timed ones, each in a random order, from
// w = 0. Both numbers are multiples of 10, because LIBLINEAR reports every ten passes.
type task struct {
	loss        loss
	rows, cols  int
	warm, timed int
	x           data.Matrix
	y           []float64
}

// loss is a loss for which every step moves its coordinate, so that all solvers do the
// same work and LIBLINEAR does not shrink.
type loss struct {
	name   string
	ours   string  // the loss in fedsim
	lambda float64 // weight of 1/2 |w|^2 in fedsim
	c      float64 // C
	solver int     // of LIBLINEAR
}

var (
	// max(0, 1 - y w.x)^2 has all dual variables above 0 if C is so small that no row
	// reaches the margin. With many more rows than features, the passes do not converge
	// for such a C.
	squaredHinge = loss{name: "squared hinge", ours: "squared-hinge", lambda: 1 / 0.2, c: 0.2, solver: 1}
	// (w.x - y)^2 has no bound. The loss of fedsim has a factor 1/2.
	squared = loss{name: "squared", ours: "squared", lambda: 1 / (2 * 10.), c: 10, solver: 12}
)

// newTask draws rows of normal numbers with variance 1/cols, and independent labels.
func newTask(loss loss, rows, cols, warm, timed int) *task {
	t := &task{loss: loss, rows: rows, cols: cols, warm: warm, timed: timed, x: data.NewMatrix(rows, cols),
		y: make([]float64, rows)}
	draws := rng.New(1, rng.Synthetic, rows, cols)
	scale := 1 / math.Sqrt(float64(cols))
	for i := range rows {
		row := t.x.Row(i)
		for j := range row {
			row[j] = scale * draws.Normal()
		}
		t.y[i] = float64(2*draws.IntN(2) - 1)
	}
	return t
}

// steps returns the number of steps of passes.
func (t *task) steps(passes int) int { return passes * t.rows }

func (t *task) restart(o *mtl.Order) { o.Reset(t.rows, rng.New(1, rng.Solve, 0, 0)) }

// order returns the row of each step of all passes.
func (t *task) order() []int32 {
	var o mtl.Order
	t.restart(&o)
	visits := make([]int32, t.steps(t.warm+t.timed))
	for k := range visits {
		visits[k] = int32(o.Next())
	}
	return visits
}

// solver runs the passes of a task.
type solver interface {
	name() string
	// time runs all passes from zero, repeatedly, and returns the total nanoseconds of the
	// timed passes.
	time(repeats int) (float64, error)
	close()
}

// ours is fedsim with a task: a federation of one device.
type ours struct {
	task      *task
	problem   *mtl.Problem
	order     mtl.Order
	a, u      []float64
	curvature float64
}

func newOurs(t *task) (*ours, error) {
	cfg := mtl.Defaults()
	cfg.Loss, cfg.LossScaling = t.loss.ours, mtl.Sum
	cfg.Regularizer, cfg.Lambda = "independent", t.loss.lambda
	set := &data.Set{Name: "bench", Features: t.cols, Clients: []data.Client{{X: t.x, Y: t.y}}}
	problem, err := mtl.NewProblem(cfg, data.Split{Train: set, Test: set})
	if err != nil {
		return nil, err
	}
	w := problem.NewWeights()
	return &ours{
		task: t, problem: problem, a: problem.NewBlocks()[0], u: w.Row(0),
		curvature: 1 / t.loss.lambda, // M = I/lambda; sigma' of a single device is 1
	}, nil
}

func (*ours) name() string { return "fedsim" }

func (*ours) close() {}

var errIdle = errors.New("a step did not move its coordinate: the work differs from that of the peers")

func (o *ours) time(repeats int) (ns float64, err error) {
	for range repeats {
		took, moved := o.passes()
		if moved != o.task.steps(o.task.timed) {
			return 0, errIdle
		}
		ns += float64(took)
	}
	return ns, nil
}

// passes runs all passes from zero and returns the time of the timed ones and the number of
// their steps that moved a coordinate.
func (o *ours) passes() (took time.Duration, moved int) {
	clear(o.a)
	clear(o.u)
	o.task.restart(&o.order)
	o.steps(o.task.warm)
	begin := time.Now()
	moved = o.steps(o.task.timed)
	return time.Since(begin), moved
}

// weights returns w after all passes.
func (o *ours) weights() []float64 {
	o.passes()
	return o.u
}

func (o *ours) steps(passes int) (moved int) {
	return o.problem.Subproblem(0, o.curvature).SDCA(o.a, o.u, &o.order, o.task.steps(passes))
}

// bar is the required ratio by number of features.
func bar(peer string, cols int) float64 {
	switch {
	case peer == liblinear && cols >= 100:
		return 4.5
	case peer == liblinear && cols == 9:
		return 1.9
	case peer == loop && cols >= 100:
		return 1
	default:
		return 0
	}
}

// sizes have the features of Landmine, of a synthetic device and of HAR (561), with the rows
// of a device and with more rows than a cache can hold.
var sizes = []struct {
	loss       loss
	rows, cols int
}{
	{squaredHinge, 340, 9}, {squared, 340, 100}, {squared, 340, 561},
	{squaredHinge, 10_000, 9}, {squared, 10_000, 100}, {squared, 10_000, 561},
}

// compareSolvers adds the rows of the tasks with names that contain only. It returns the
// missing peers.
func compareSolvers(t table, repetitions int, only string) (missing []*notInstalled, err error) {
	tools, missing, err := compileAll()
	if err != nil {
		return nil, err
	}
	defer tools.remove()
	for _, size := range sizes {
		work := fmt.Sprintf("step, %d x %d, %s", size.rows, size.cols, size.loss.name)
		if !strings.Contains(work, only) {
			continue
		}
		if err := compareOn(t, work, newTask(size.loss, size.rows, size.cols, 10, 20), tools, repetitions); err != nil {
			return nil, fmt.Errorf("%s: %w", work, err)
		}
	}
	return missing, nil
}

// compareOn adds the rows of one task.
func compareOn(t table, work string, task *task, tools programs, repetitions int) error {
	us, err := newOurs(task)
	if err != nil {
		return err
	}
	solvers := []solver{us}
	defer func() {
		for _, s := range solvers {
			s.close()
		}
	}()
	for _, program := range tools.all {
		peer, err := program.start(task)
		if err != nil {
			return err
		}
		solvers = append(solvers, peer)
	}
	contestants := make([]contestant, len(solvers))
	repeats := task.repeats()
	for k, s := range solvers {
		contestants[k] = contestant{s.name(), func() (float64, error) {
			ns, err := s.time(repeats)
			return ns / float64(repeats*task.steps(task.timed)), err
		}}
	}
	took, err := race(repetitions, contestants)
	if err != nil {
		return err
	}
	for k, program := range tools.all {
		t.add(work, nanoseconds, took[0], contestants[k+1].name, took[k+1], bar(program.peer, task.cols))
	}
	return nil
}

// repeats returns the repetitions of a task in a turn. A turn takes some hundredths of a
// second, longer than most disturbances.
func (t *task) repeats() int {
	const values = 2e7 // values of rows per turn
	return max(1, int(values)/(t.steps(t.timed)*(t.cols+20)))
}
