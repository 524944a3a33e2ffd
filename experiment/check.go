package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/rooms/fit"
	"fedsim/mtl"
)

const (
	// mostChecked is the number of devices, over all runs, that Check looks at: a tenth of a
	// second.
	mostChecked = 200_000
	// fewest is how many seeds Check looks at if seeds are added until results are certain: no fewer can make them so.
	fewest = 7
	// manySteps is the number of local steps from which on Check notes a round: it takes
	// minutes at least.
	manySteps = 1e9
)

// Check returns the error of the first run of each experiment that its server would refuse, for the number of its
// devices or since none can respond within its deadline, before anything runs: every point of a sweep, a sample and
// a tuning grid counts. The notes are about rounds of very many steps, and about timeouts. Check reads no data files,
// and leaves runs on them, and those beyond the first devices, to their start.
func Check(ctx context.Context, experiments []scenario.Experiment) (notes []string, err error) {
	c := check{grouping: grouping{runner: newRunner(ctx, nil, Options{}, mostRecorded)}}
	for _, e := range experiments {
		noted := false
		var failed error
		for i := range e.Jobs {
			for k := range e.Jobs[i].Candidates {
				candidate := &e.Jobs[i].Candidates[k]
				if !candidate.Settings.Data.SizesKnown() || ctx.Err() != nil {
					continue
				}
				if q, err := c.quantitiesOf(candidate); err == nil && q.steps > manySteps && !noted {
					noted = true
					notes = append(notes,
						fmt.Sprintf("run %s: a round plans %.2g local steps: it may take minutes or hours of computing",
							candidate.ID, q.steps))
				}
				seeds := e.Jobs[i].Seeds
				switch {
				case candidate.Settings.Federation.DeadlineS == 0: // nothing that is drawn matters
					seeds = seeds[:1]
				case untilCertain(&e.Jobs[i]):
					seeds = seeds[:fewest]
				}
				for _, seed := range seeds {
					run := candidate.WithSeed(seed)
					if failed == nil {
						failed = c.start(&run)
					}
					if c.note != "" {
						notes, c.note = append(notes, c.note), ""
					}
				}
			}
		}
		err = errors.Join(err, failed)
	}
	return notes, err
}

type check struct {
	grouping
	devices int    // looked at so far
	note    string // about the timeouts of the run that was looked at; one of a scenario has it
	noted   bool
}

// start returns the error with which the server of a run would refuse the number of its clients, or a deadline that
// none of them can meet.
func (c *check) start(run *scenario.RunSpec) error {
	s := &run.Settings
	factory, known := algorithms.Lookup(run.Algorithm)
	if !known {
		return nil
	}
	sized, err := c.prepare.sizesOf(s)
	if err != nil {
		return nil // the run says so
	}
	if c.devices += sized.clients; c.devices > mostChecked {
		return nil
	}
	setup, err := c.prepare.server(run, sized)
	if err != nil {
		return nil // likewise, of files of traces
	}
	about := run.Describe(mtl.Shape{})
	if err := clientsOf(setup, &about); err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	fed := &s.Federation
	if fed.DeadlineS == 0 && fed.AnswerTimeoutS == 0 && !s.Network.TimesOut() || about.Work.Steps == nil {
		return nil
	}
	f, err := c.timed(run, setup, factory)
	if err == nil && !c.noted && (fed.AnswerTimeoutS > 0 || s.Network.TimesOut()) {
		c.note = firstTriesOf(run, f, nil).note()
		c.noted = c.note != ""
	}
	if problem, ok := errors.AsType[config.Problem](err); ok &&
		(problem.Key == "federation.deadline_s" || strings.HasSuffix(problem.Key, ".answer_timeout_s") ||
			strings.HasPrefix(problem.Key, "network.wire.")) {
		return fmt.Errorf("run %s: %w", run.ID, problem)
	}
	return nil
}

// timed returns the federation of a run that learns nothing.
func (c *check) timed(run *scenario.RunSpec, setup *learning.Setup, factory algorithms.Factory) (*learning.Federation,
	error) {
	setup.Factory, setup.Options, setup.Pool = factory.Timed(), run.Options, c.pool
	setup.Schedule = learning.Schedule{Outer: 1, Rounds: 1, EvalEvery: 1}
	return learning.New(*setup)
}

// Before returns how the first tries of the runs of experiments end, each with its first seed. It reads data for the
// sizes of its clients.
func Before(ctx context.Context, experiments []scenario.Experiment) (list []*FirstTries, err error) {
	c := check{grouping: grouping{runner: newRunner(ctx, nil, Options{}, mostRecorded)}}
	for job := range scenario.Jobs(experiments) {
		run := job.Candidates[0].WithSeed(job.Seeds[0])
		factory, known := algorithms.Lookup(run.Algorithm)
		if !known {
			return nil, fmt.Errorf("run %s: another program drives it: its tries are not known before", run.ID)
		}
		sized, err := c.prepare.sizesOf(&run.Settings)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
		setup, err := c.prepare.server(&run, sized)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
		f, err := c.timed(&run, setup, factory)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
		var names []string
		if sized.about != nil && sized.about.Clients != nil {
			names = sized.about.Clients.Names
		}
		list = append(list, firstTriesOf(&run, f, names))
	}
	return list, nil
}

// clientsOf returns what does not go with the clients of a run, and their number.
func clientsOf(s *learning.Setup, about *algorithms.Description) error {
	if err := s.CheckSizes(); err != nil {
		return err
	}
	c := config.NewChecker()
	_, asked := s.Config.Sizes(s.Clients)
	fit.Asked(c, asked, s.Clients, about)
	s.Check(c)
	of := clients.Setup{System: s.System, Cost: s.Config.Cost, NoMessages: about.Messages.None}
	of.Validate(c)
	return c.Err()
}
