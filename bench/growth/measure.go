package main

import (
	"fmt"

	"fedsim/bench/runs"
	"fedsim/results"
	"fedsim/results/rundir"
)

// point is the cost of a run.
type point struct {
	count float64 // of the varied quantity
	round float64 // seconds of a round
	bytes float64 // peak memory, including the generation of data
}

// measure runs the scenario of a sweep with a size and writes its results to dir.
func measure(p runs.Program, dir string, s sweep, size int) (point, error) {
	var args []string
	for _, k := range s.set(size) {
		args = append(args, "--set", k)
	}
	r, err := p.Run(dir, s.scenario, args...)
	if err != nil {
		return point{}, err
	}
	return s.point(r, size)
}

// point returns the point of a run directory.
func (s sweep) point(r *rundir.Results, size int) (point, error) {
	clock := r.Manifest.Clock
	if len(r.Runs) != 1 || clock == nil || clock.PeakMemoryBytes == 0 {
		return point{}, fmt.Errorf("scenario %s: %d runs, clock %+v: must be one run with its peak memory, which some systems do not report", s.scenario, len(r.Runs), clock)
	}
	run := &r.Runs[0]
	last, ok := lastRound(run)
	if !ok {
		return point{}, fmt.Errorf("scenario %s: the run has no rounds", s.scenario)
	}
	p := point{count: float64(size), round: run.WallS / float64(last), bytes: float64(clock.PeakMemoryBytes)}
	if s.events {
		p.count = float64(run.Events) / float64(last)
	}
	return p, nil
}

// lastRound returns the number of rounds of a run.
func lastRound(r *results.Run) (rounds int, ok bool) {
	if len(r.Rounds) == 0 {
		return 0, false
	}
	rounds = r.Rounds[len(r.Rounds)-1].Round
	return rounds, rounds > 0
}

// newMeasured returns a slice of points per sweep.
func newMeasured(all []sweep) [][]point {
	m := make([][]point, len(all))
	for i := range all {
		m[i] = make([]point, len(all[i].sizes))
	}
	return m
}

// take sets the minimum of two measurements: disturbances only increase time and memory.
func (p *point) take(q point) {
	if p.count == 0 {
		*p = q
		return
	}
	p.round, p.bytes = min(p.round, q.round), min(p.bytes, q.bytes)
}
