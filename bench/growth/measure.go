package main

import (
	"fmt"

	"fedsim/bench/runs"
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
		return point{},
			fmt.Errorf("scenario %s: %d runs, clock %+v: must be one run with its peak memory, "+
				"which some systems do not report", s.scenario, len(r.Runs), clock)
	}
	run := &r.Runs[0]
	if len(run.Rounds) == 0 || run.Rounds[len(run.Rounds)-1].Round == 0 {
		return point{}, fmt.Errorf("scenario %s: the run has no rounds", s.scenario)
	}
	last := run.Rounds[len(run.Rounds)-1].Round
	p := point{count: float64(size), round: run.WallS / float64(last), bytes: float64(clock.PeakMemoryBytes)}
	if s.events {
		p.count = float64(run.Events) / float64(last)
	}
	return p, nil
}

// take sets the minimum of two measurements: disturbances only increase time and memory.
func (p *point) take(q point) {
	if p.count == 0 {
		*p = q
		return
	}
	p.round, p.bytes = min(p.round, q.round), min(p.bytes, q.bytes)
}
