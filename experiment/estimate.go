package experiment

import (
	"fedsim/experiment/scenario"
)

// Estimate is the processor time in seconds that the work on a scenario takes on one core, by
// the model of [Cost]: no clock is read, and no round is made.
type Estimate struct {
	Optima float64 // reference optima and first couplings
	Tuning float64 // candidates of grids, with a guess of those that grids gain
	Runs   float64 // with the data

	Early    bool // runs may end early: at a target, or after a time
	Grows    bool // grids may gain more candidates than the guess
	Learners bool // without the work of learners in other processes
	First    bool // of the first seeds: more are added until results are certain
}

// estimate estimates the work on jobs. ok is false for data without known sizes: preparing them
// will report why.
func (r *runner) estimate(jobs []job) (e Estimate, ok bool) {
	g := newGrouping(r)
	if err := g.addAll(jobs); err != nil {
		return e, false
	}
	var load float64 // once, by one process
	once := func(c Cost) float64 {
		load = max(load, c.load)
		return c.Seconds - c.load
	}
	for i := range g.needs {
		if n := &g.needs[i]; n.Kind == KindTuning {
			e.Tuning += once(n.Cost)
		} else {
			e.Optima += once(n.Cost)
		}
	}
	for i := range g.runs {
		e.Runs += once(g.runs[i].Cost)
	}
	e.Runs += load
	for i := range jobs {
		j := &jobs[i]
		settings := &j.Candidates[0].Settings
		run := &settings.Run
		tuned := len(j.Candidates) > 1
		e.Early = e.Early || tuned || run.StopAt.IsSet() || run.MaxTimeS > 0 || settings.MayEnd()
		e.First = e.First || untilCertain(j.Job)
		e.Grows = e.Grows || tuned && j.extend > 0
		e.Learners = e.Learners || isExternal(&j.Candidates[0])
	}
	return e, true
}

// FigureSeconds estimates the processor time of the figures of experiments, as [Estimate] does that of their runs.
func FigureSeconds(experiments []scenario.Experiment) (seconds float64) {
	for i := range experiments {
		e := &experiments[i]
		figures, lines, evaluated := float64(max(1, len(e.Figures))), 0.0, 0.0
		for k := range e.Jobs {
			run := &e.Jobs[k].Candidates[0].Settings.Run
			n := float64(len(e.Jobs[k].Seeds))
			if untilCertain(&e.Jobs[k]) {
				n = fewest
			}
			rounds := run.MostRounds()
			if run.Rounds == 0 {
				rounds = roundsGuess
			}
			lines++
			evaluated += float64(n*float64(rounds)) / float64(max(1, run.EvalEvery))
		}
		seconds += float64(figures * (figureTime + float64(lines*lineTime) + float64(evaluated*pointTime)))
	}
	return seconds
}
