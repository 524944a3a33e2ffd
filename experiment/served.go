package experiment

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
	"fedsim/results"
)

// rowsOf returns the rows of a problem; nil if the program of its model has them.
func (p *preparer) rowsOf(of *problemKey) (*data.Split, error) {
	if of.data.Source == data.SourceExternal {
		return nil, nil
	}
	if of.problem.Model == mtl.ModelExternal {
		return p.deferred.get(of.data, func() (*data.Split, error) { return p.split(of.data, data.Defer) })
	}
	if of.data.Folds > 0 || p.loaded.has(whole(of.data)) {
		return p.splits.get(of.data, func() (*data.Split, error) { return p.divided(of.data) })
	}
	return p.splits.get(of.data, func() (*data.Split, error) { return p.split(of.data, data.Prepare) })
}

// served is the program of an external model.
type served struct {
	program rooms.Model // nil: the model is not external
	about   *results.ExternalModel
	earlier []string // programs that the runs had before, with Options.AllowOtherProgram
}

// metered returns the problem of a run, of whose program the time is added up; that of another model is p.
func (s *served) metered(p *mtl.Problem) (*mtl.Problem, rooms.Metered) {
	if s.program == nil {
		return p, nil
	}
	m := s.program.Metered()
	return p.Through(m), m
}

// addTime adds the time of programs to that of a run; nil programs have none.
func addTime(to *results.Run, programs ...rooms.Metered) {
	for _, p := range programs {
		if p == nil {
			continue
		}
		if to.ProgramTime == nil {
			to.ProgramTime = new(results.ProgramTime)
		}
		evaluations, gradients := p.Take()
		to.ProgramTime.EvaluateS += evaluations
		to.ProgramTime.GradientS += gradients
	}
}

// modelKey is what processes of a program can serve: problems on the same rows share them.
type modelKey struct {
	data      data.Config
	command   mtl.Command
	timeoutS  float64
	processes int
}

// serve starts the program of the model of a problem, if it is external, and returns the rows: those of
// a split, or of the program.
func (p *preparer) serve(of *problemKey, split *data.Split) (served, *data.Split, error) {
	cfg := &of.problem
	if cfg.Model != mtl.ModelExternal {
		return served{}, split, nil
	}
	o := p.programOptions(cfg, &of.data)
	if o.Processes == 0 {
		o.Processes = p.workers
	}
	m, err := p.models.get(modelKey{of.data, cfg.Command, cfg.TimeoutS, o.Processes},
		func() (rooms.Model, error) { return p.others.Model(o, split) })
	if err != nil {
		return served{}, nil, err
	}
	if split == nil {
		if split, err = programRows(m, of.data); err != nil {
			return served{}, nil, err
		}
	}
	s := served{program: m, about: m.About()}
	return s, split, p.sameProgram(cfg.Command, &s)
}

// growFor gives each process of an external model a worker more, unless there is one worker: while the
// process answers one request, another worker prepares the next. Results are the same.
func (r *runner) growFor(jobs []job) {
	if r.prepare.workers == 1 || r.pool.Size() > r.prepare.workers {
		return
	}
	most := 0
	for i := range jobs {
		cfg := &jobs[i].Candidates[0].Settings.Problem
		switch {
		case cfg.Model != mtl.ModelExternal:
		case cfg.Processes == 0:
			most = max(most, r.prepare.workers)
		default:
			most = max(most, cfg.Processes)
		}
	}
	if most > 0 {
		r.pool.Grow(most)
	}
}

// programOptions returns the options of the program of a problem.
func (p *preparer) programOptions(cfg *mtl.Config, of *data.Config) rooms.ModelOptions {
	return rooms.ModelOptions{Command: cfg.Command.Words(), TimeoutS: cfg.TimeoutS, Processes: cfg.Processes,
		Memory: p.memory, Real: of.Target == data.TargetReal}
}

// timed returns the sizes of the data of a run without learning, and those of its external model, whose
// program is asked for nothing else.
func (p *preparer) timed(s *scenario.Settings) (*prepared, error) {
	return p.sizedModels.get(keyOf(s), func() (*prepared, error) {
		sized, err := p.sizesOf(s)
		if err != nil {
			return nil, err
		}
		told := &rooms.Told{Clients: sized.clients, Features: sized.shape.Features, Outputs: sized.shape.Outputs,
			Real: s.Data.Target == data.TargetReal}
		if s.Data.Source == data.SourceExternal {
			told = nil
		}
		m, err := p.others.TimedModel(p.programOptions(&s.Problem, &s.Data), told)
		if err != nil {
			return nil, err
		}
		if told == nil && !s.Federation.Lazy() {
			if _, err := programRows(m, s.Data); err != nil {
				return nil, err
			}
		}
		of := *sized
		of.served.about = m.About()
		of.shape.Given = m.Sizes()
		return &of, p.sameProgram(s.Problem.Command, &of.served)
	})
}

// programRows returns the rows of a program, which has those that the scenario says.
func programRows(m rooms.Model, cfg data.Config) (*data.Split, error) {
	rows, _, _, _, err := data.Sizes(cfg)
	if err != nil {
		return nil, err
	}
	if own := m.Rows(0); !slices.Equal(rows, own) {
		return nil,
			config.Problem{Key: "data.external.rows", Value: string(cfg.External.Rows),
				Want: fmt.Sprintf(
					"must be %s: the program of problem.program.command has %d clients with so many training rows",
					brief(own),
					len(own))}
	}
	for part := 1; part < 3; part++ {
		if n := len(m.Rows(part)); m.Rows(part) != nil && n != len(rows) {
			return nil,
				fmt.Errorf("model of problem.program.command: hello: answers with test or validation rows of %d "+
					"clients: "+
					"must be those of %d", n, len(rows))
		}
	}
	return data.RowsElsewhere(cfg.Target == data.TargetReal, m.Rows(0), m.Rows(1), m.Rows(2)), nil
}

// brief lists numbers, or the first of many.
func brief(numbers []int32) string {
	const most = 10
	if len(numbers) <= most {
		return config.Literal(numbers)
	}
	return strings.TrimSuffix(config.Literal(numbers[:most]), "]") + ", ...]"
}

// sameProgram requires a program to be that of the checkpoints, or notes the earlier ones where
// another may take its place.
func (p *preparer) sameProgram(command mtl.Command, s *served) error {
	p.programs.Lock() // problems on other rows have the same program
	defer p.programs.Unlock()
	saver := p.policy.Saver(p.ctx, "program "+command.String())
	if saver == nil {
		return nil
	}
	var all string // in their order, a line each
	code := func(c *state.Coder) { c.String(&all) }
	found, err := saver.Load(code)
	if err != nil {
		return err
	}
	if found {
		had := strings.Split(all, "\n")
		last := had[len(had)-1]
		if last != s.about.Program && !p.otherProgram {
			return fmt.Errorf("problem.program.command: the program is another than before the interruption: it "+
				"was %q, "+
				"and is %q: go back to it, or add --allow-other-program", last, s.about.Program)
		}
		if last == s.about.Program {
			s.earlier = had[:len(had)-1]
			return nil
		}
		s.earlier = had
		all += "\n"
	}
	all += s.about.Program
	return saver.Save(code)
}
