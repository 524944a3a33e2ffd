package main

import (
	"fmt"
	"math"
	"testing"
)

// compiled returns the installed peers in C and logs the missing ones.
func compiled(t *testing.T) programs {
	t.Helper()
	tools, missing, err := compileAll()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tools.remove)
	for _, m := range missing {
		t.Log("skipped:", m)
	}
	if len(tools.all) == 0 {
		t.Skip("no peer is installed")
	}
	return tools
}

// All solvers minimize the same function. After 500 passes over a few rows, fedsim and the
// loop are at the optimum, where LIBLINEAR stops.
func TestOptimaAgree(t *testing.T) {
	tools := compiled(t)
	for _, task := range []*task{
		newTask(squaredHinge, 60, 9, 10, 490),
		newTask(squared, 60, 9, 10, 490),
		newTask(squared, 20, 45, 10, 490),
	} {
		for _, program := range tools.all {
			compareWeights(t, task, program)
		}
	}
}

// The loop does the same steps as fedsim: both agree far from the optimum.
func TestLoopTakesOurSteps(t *testing.T) {
	for _, program := range compiled(t).all {
		if program.peer != loop {
			continue
		}
		for _, loss := range []loss{squaredHinge, squared} {
			compareWeights(t, newTask(loss, 60, 21, 0, 1), program)
		}
	}
}

func compareWeights(t *testing.T, task *task, program program) {
	t.Helper()
	us, err := newOurs(task)
	if err != nil {
		t.Fatal(err)
	}
	ours := us.weights()
	peer, err := program.start(task)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.close()
	theirs, err := peer.weights()
	if err != nil {
		t.Fatal(err)
	}
	if len(theirs) != len(ours) {
		t.Fatalf("%s has %d weights, fedsim %d", peer.name(), len(theirs), len(ours))
	}
	largest := 0.0
	for _, w := range ours {
		largest = max(largest, math.Abs(w))
	}
	for j, w := range theirs {
		if !(math.Abs(w-ours[j]) <= 1e-6*largest) {
			t.Errorf("%s, %d x %d, %s: w[%d] = %.12g, fedsim has %.12g", peer.name(), task.rows, task.cols,
				task.loss.name, j, w, ours[j])
		}
	}
}

// For every size, every timed step moves its coordinate, and LIBLINEAR neither shrinks nor
// converges before the last pass; otherwise, time returns an error.
func TestWorkIsWhole(t *testing.T) {
	tools := compiled(t)
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.rows, size.cols), func(t *testing.T) {
			if testing.Short() && size.rows*size.cols > 1e6 {
				t.Skip("45 MB of rows")
			}
			task := newTask(size.loss, size.rows, size.cols, 10, 20)
			us, err := newOurs(task)
			if err != nil {
				t.Fatal(err)
			}
			solvers := []solver{us}
			for _, program := range tools.all {
				peer, err := program.start(task)
				if err != nil {
					t.Fatal(err)
				}
				defer peer.close()
				solvers = append(solvers, peer)
			}
			for _, s := range solvers {
				if ns, err := s.time(1); err != nil || ns <= 0 {
					t.Errorf("%s took %g ns (%v)", s.name(), ns, err)
				}
			}
		})
	}
}
