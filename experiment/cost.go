package experiment

import (
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/mtl"
	"fedsim/network"
)

// Cost is an estimate of the time and memory of a computation on one core. It comes from a model
// of the sizes of data, models and rounds, without a clock: the same scenario has the same costs on
// every machine. When a run stops at a target or after a time, how long a reference optimum takes,
// and work that depends on the data are guesses.
type Cost struct {
	Seconds float64
	Bytes   float64

	load    float64 // seconds to prepare the data, once for a process
	shared  float64 // seconds of the computation that the runs of a group share
	results float64 // bytes of the results of all runs
}

// plus returns the cost of two computations of a process, one after the other.
func (c Cost) plus(d Cost) Cost {
	sum := Cost{load: math.Max(c.load, d.load), results: c.results + d.results}
	sum.Seconds = c.Seconds - c.load + d.Seconds - d.load + sum.load
	sum.Bytes = math.Max(c.Bytes-c.results, d.Bytes-d.results) + sum.results
	return sum
}

// The constants of the model, in seconds and bytes. They are rounded from the CPU time of the
// shipped scenarios on a core of an x86-64 server with AVX2 (bench/README.md).
const (
	flopTime    = 0.3e-9 // of local work, of evaluations and of couplings
	stepTime    = 15e-9  // of a local step, beside its FLOPs
	rowTime     = 8e-9   // of a row in an evaluation, beside its FLOPs
	attemptTime = 1.2e-6 // of a device in a round: its messages and events
	roundTime   = 20e-6  // of a round: the server, and its row in every file
	rowsTime    = 2e-6   // of a row by device, or a value by client
	runTime     = 1e-3   // of a run: building devices and links, its files
	valueTime   = 15e-9  // of a value of the data: generated, divided and scaled
	solvePasses = 60     // passes over the data for a reference optimum or a learned coupling
	stopShare   = 0.3    // of the rounds of a run that stops at a target
	growth      = 0.5    // candidates that a grid gains for each of its options
	figureTime  = 0.2    // of a figure in both formats
	lineTime    = 6e-3   // of a line of a figure
	pointTime   = 2e-6   // of an evaluation in a figure
	roundsGuess = 1000   // rounds of a run without a limit of them, in a figure
	thetaPasses = 15     // passes of a device whose work ends at an accuracy

	processBytes = 40 << 20 // of a process without runs
	valueBytes   = 8
	roundBytes   = 500 // of a round in the memory of a process
	workBytes    = 24  // of a device in a recorded round
)

// quantities are the terms of the cost of a run.
type quantities struct {
	load       float64 // seconds to prepare the data
	math       float64 // seconds of the method and of evaluations
	simulation float64 // seconds of the simulation of devices, links and server
	data       float64 // bytes of the data and the problem
	kept       float64 // bytes of vectors of clients, of an external model
	rounds     float64
	devices    float64
	pass       float64 // seconds of a pass over all rows and one update of the server
	tasks      float64
	values     float64 // of a model
	steps      float64 // local steps of a round
}

// quantitiesOf returns the quantities of a run if it makes all its rounds.
func (g *grouping) quantitiesOf(run *scenario.RunSpec) (q quantities, err error) {
	s := &run.Settings
	sized, err := g.prepare.sizesOf(s)
	if err != nil {
		return q, err
	}
	shape := sized.shape
	shape.Hidden = s.Problem.Hidden
	learns := s.Run.Mode != scenario.Timing
	if s.Problem.Model == mtl.ModelExternal {
		known, started := g.prepare.given.Load(keyOf(s))
		if learns = learns && started; started {
			shape = known.(mtl.Shape)
		}
	}
	about := run.Describe(shape)
	devices := sized.clients * max(1, s.Data.ClientsPerTask)
	_, asked := s.Federation.Sizes(devices)
	q.tasks, q.values, q.devices = float64(sized.clients), float64(shape.Values()), float64(devices)
	q.rounds = roundsOf(run, &about, sized.rows, shape.Values())
	if s.Run.StopAt.IsSet() {
		q.rounds = math.Min(q.rounds, stopShare*float64(s.Run.MostRounds()))
	}
	attempts := float64(q.rounds * float64(asked))
	q.simulation = runTime + float64(q.rounds*roundTime) + float64(attempts*attemptTime)
	if recordsDevices(run, &about, devices, sized.rows, shape.Values()) {
		q.simulation += float64(q.rounds * q.devices * rowsTime)
	}
	if !learns || about.Own {
		q.data = float64(timedDevices(s, devices) * timedDevice)
		return q, nil
	}
	q.learning(s, &about, shape, sized.rows, float64(asked)/q.devices)
	return q, nil
}

// learning adds the quantities of a method of fedsim that asks a share of the devices in a round, for data
// of so many rows by task.
func (q *quantities) learning(
	s *scenario.Settings, about *algorithms.Description, shape mtl.Shape, rowsOf []int32, share float64,
) {
	rows := 0.0
	for _, n := range rowsOf {
		rows += float64(n)
	}
	all := rows / math.Max(float64((1-s.Data.TestFraction)*(1-s.Data.Validation)), 0.1)
	q.load = float64(all * float64(shape.Features+2) * valueTime)
	models := len(rowsOf)
	if s.Problem.Model == mtl.ModelExternal {
		o := footprintOf(s, about, shape, int(q.devices), len(rowsOf))
		models, q.kept = o.models, o.kept
	}
	q.data = float64(all*float64(shape.Features+2)*valueBytes) +
		s.Problem.MinMemory(models, shape.Values(), s.Run.Outer)

	// coupled is the number of FLOPs of a value in an update of all models.
	updated, coupled := q.tasks, float64(2*math.Min(q.tasks, 2*q.values))+2
	if about.Model.Count(len(rowsOf)) == 1 {
		updated, coupled = 1, 4
	}
	server := float64(updated * q.values * coupled * flopTime)
	local := float64(rows * (stepTime + float64(shape.StepFLOPs()*flopTime)))
	q.pass = local + server
	work := float64(local * thetaPasses)
	if load := &about.Work; load.Steps != nil {
		steps, least := 0.0, int(slices.Min(rowsOf))
		for _, n := range rowsOf {
			steps += float64(load.Steps(int(n), allowedSteps(s, load, int(n), least)))
		}
		work = float64(steps * (stepTime + float64(load.StepFLOPs*flopTime)))
		q.steps = float64(share * steps)
	}
	shown := 1.0
	if s.Run.EvalClients > 0 {
		shown = math.Min(1, float64(s.Run.EvalClients)/q.tasks)
	}
	evaluation := float64(shown*all*(rowTime+float64(float64(shape.RowFLOPs()/2)*flopTime))) + float64(shown*server)
	if s.Run.ClientsEvery > 0 && len(s.Run.ClientMetrics) > 0 {
		q.simulation += float64(q.rounds / float64(s.Run.ClientsEvery) * q.devices * float64(len(s.Run.ClientMetrics)) *
			(2 * rowsTime))
	}
	q.math = float64(q.rounds*float64(float64(share*work)+server)) +
		float64(float64(q.rounds/float64(s.Run.EvalEvery)+1)*evaluation)
	if s.Run.ThetaEvery > 0 {
		q.math += float64(q.rounds / float64(s.Run.ThetaEvery) * thetaPasses * local)
	}
	q.math += float64(float64(s.Run.Outer-1) * q.omega())
}

// roundsOf estimates the rounds of a run that no target ends: those that it may make, or as many usual ones as its
// time has.
func roundsOf(run *scenario.RunSpec, about *algorithms.Description, rows []int32, values int) float64 {
	s := &run.Settings
	rounds := float64(s.Run.MostRounds())
	if s.Run.MaxTimeS == 0 {
		return rounds
	}
	length := s.Federation.DeadlineS // a round takes about as long
	if length == 0 && s.Federation.Cost == federation.Physical {
		length = responseSeconds(run, about, rows, values)
	}
	if length == 0 && s.Run.Rounds == 0 {
		length = 1
	}
	if length > 0 {
		rounds = math.Min(rounds, math.Ceil(s.Run.MaxTimeS/length))
	}
	return rounds
}

// mostDeviceRows limits the rows by device of a run that it writes without being told to.
const mostDeviceRows = 200_000

// recordsDevices reports whether a run on so many devices writes its rows by device. It depends on the scenario and
// the sizes of its data alone, so that all parts of a plan, and a resumed run, agree.
func recordsDevices(run *scenario.RunSpec, about *algorithms.Description, devices int, rows []int32, values int) bool {
	s := &run.Settings
	if s.Run.Devices != scenario.Auto {
		return s.Run.Devices == scenario.Yes
	}
	return s.Run.WholeRounds() && !s.Federation.Lazy() &&
		float64(devices)*roundsOf(run, about, rows, values) <= mostDeviceRows
}

// sampledDevices are those whose usual response time stands for that of all.
const sampledDevices = 100

// responseSeconds returns the virtual seconds of a usual attempt, mean over devices: those of two messages of so
// many values, and of work that no protocol limits. A round lasts longer.
func responseSeconds(run *scenario.RunSpec, about *algorithms.Description, rows []int32, values int) (mean float64) {
	s := &run.Settings
	n := min(max(1, len(rows)), sampledDevices)
	cfg := s.Devices
	cfg.SpreadWidth = 0 // so that the mean is that of the mean device
	processors, links := devices.NewProcessors(cfg, n, run.System), network.NewLinks(s.Network, n, run.System)
	if fleet := s.Fleet.Fleet(); fleet != nil {
		machines, connections := fleet.Assemble(n, nil, run.System)
		processors, links = devices.NewMixedProcessors(s.Devices, machines, run.System),
			network.NewMixedLinks(s.Network, connections, run.System)
	}
	for client := range n {
		seconds := 0.0
		if !about.Messages.None {
			bytes := links.Bytes(values)
			seconds = links.Expected(network.Down, client, bytes).Seconds() +
				links.Expected(network.Up, client, bytes).Seconds()
		}
		if load := &about.Work; client < len(rows) && load.Steps != nil && !s.Federation.Traits().LimitsWork {
			own := int(rows[client])
			seconds += processors.Seconds(client, workOf(load, own, load.Steps(own, algorithms.NoLimit)))
		}
		mean += seconds / float64(n)
	}
	return mean
}

// meanDevice returns a device of the mean speed.
func meanDevice(s *scenario.Settings) *devices.Processors {
	cfg := s.Devices
	cfg.SpreadWidth = 0
	return devices.NewProcessors(cfg, 1, 0)
}

// workOf returns about the work of so many steps on a device with so many rows.
func workOf(load *algorithms.Workload, rows, steps int) devices.Work {
	batches, traffic := load.Overheads(rows, steps)
	return devices.Work{FLOPs: float64(float64(steps) * load.StepFLOPs), Steps: float64(batches), Traffic: traffic}
}

// omega returns the seconds of an update of the coupling: a decomposition of the smaller side.
func (q *quantities) omega() float64 {
	small := math.Min(q.tasks, q.values)
	return float64(20 * small * small * math.Max(q.tasks, q.values) * flopTime)
}

// allowedSteps estimates the steps that the protocol allows a device with so many rows.
func allowedSteps(s *scenario.Settings, load *algorithms.Workload, rows, least int) int {
	traits := s.Federation.Traits()
	switch {
	case !traits.LimitsWork:
		return algorithms.NoLimit
	case traits.ChargedPasses > 0:
		return max(1, int(float64((1+s.Federation.StepsLow)/2*s.Federation.StepsHigh*float64(least))))
	case traits.FitsWork && s.Federation.Cost == federation.Physical && s.Fleet.Fleet() == nil:
		pass := workOf(load, rows, max(1, rows))
		step := (meanDevice(s).Seconds(0, pass) - s.Devices.TaskS) / float64(max(1, rows))
		return max(1, int(math.Min(math.MaxInt32, (s.Federation.DeadlineS-s.Devices.TaskS)/step)))
	default:
		return 5 * rows
	}
}

// costOf returns the cost of runs that share their computation, or of a single run.
func costOf(runs []quantities) (c Cost) {
	mathematics, memory, recorded := 0.0, 0.0, 0.0
	for i := range runs {
		q := &runs[i]
		c.load, mathematics = math.Max(c.load, q.load), math.Max(mathematics, q.math)
		c.Seconds += q.simulation
		memory = math.Max(memory, 2*q.data+q.kept+float64(2*q.devices*timedDevice))
		recorded = math.Max(recorded, q.rounds*q.devices*workBytes)
		c.results += float64(q.rounds * roundBytes)
	}
	if len(runs) > 1 {
		c.shared = mathematics
		memory += recorded
	}
	c.Seconds += c.load + mathematics
	c.Bytes = processBytes + memory + c.results
	return c
}

// quantitiesUnder returns the quantities of the run of a job under a seed: the mean of its
// candidates.
func (g *grouping) quantitiesUnder(j *job, seed int) (quantities, error) {
	return g.meanOf(j, seed, func(run scenario.RunSpec) scenario.RunSpec { return run })
}

// quantitiesOfTrials returns the quantities of a trial of a job: the mean of its candidates, which end at
// the target of the tuning, or when they are slower than the best before them.
func (g *grouping) quantitiesOfTrials(j *job) (quantities, error) {
	return g.meanOf(j, 0, func(run scenario.RunSpec) scenario.RunSpec {
		run = j.trial(run)
		run.Settings.Run.StopAt, run.Settings.Run.ThetaEvery = j.Target, 0
		return run
	})
}

// trials returns the runs of a tuning: the candidates of the grid, with a guess of those that
// it gains, under each seed of the tuning.
func (j *job) trials() float64 {
	n := float64(len(j.Candidates))
	if j.extend > 0 {
		n += float64(growth * float64(len(j.Options)))
	}
	return float64(n * float64(j.under))
}

// meanOf returns the mean quantities of the candidates of a job under a seed, each as change returns it.
func (g *grouping) meanOf(j *job, seed int, change func(scenario.RunSpec) scenario.RunSpec) (
	mean quantities, err error) {
	n := float64(len(j.Candidates))
	for i := range j.Candidates {
		run := change(j.Candidates[i].WithSeed(j.Seeds[seed]))
		q, err := g.quantitiesOf(&run)
		if err != nil {
			return mean, err
		}
		seconds := mean.math + q.math/n
		simulation := mean.simulation + q.simulation/n
		if i == 0 || q.data > mean.data {
			mean = q
		}
		mean.math, mean.simulation = seconds, simulation
	}
	return mean, nil
}

// optimum returns the cost of the reference optimum and the first coupling of a problem.
func (q *quantities) optimum(s *scenario.Settings) Cost {
	solutions := float64(s.Problem.WarmOmega)
	if s.Problem.HasReference() {
		solutions++
		if s.Run.Outer > 1 { // of the joint problem
			solutions += 4
		}
	}
	seconds := q.load + float64(solutions*float64(float64(solvePasses*q.pass)+q.omega()))
	return Cost{Seconds: seconds, Bytes: processBytes + float64(3*q.data), load: q.load}
}

// tuning adds n candidates of a job to the cost of a tuning. Jobs of a tuning share their
// computation.
func (c Cost) tuning(mean *quantities, n float64) Cost {
	one := costOf([]quantities{*mean})
	if c.Seconds == 0 {
		c = Cost{Seconds: mean.load + float64(n*mean.math), Bytes: one.Bytes, load: mean.load}
	}
	c.Seconds += float64(n * mean.simulation)
	return c
}
