package methods

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The values of a model that stay with a client: values of fedPerOptions.Personal.
const (
	personalHead     = "head"
	personalBody     = "body"
	personalFeatures = "features"
	personalArrays   = "arrays"
	personalAll      = "all"
	personalNone     = "none"
)

// fedPerOptions are the settings of methods whose clients keep a part of the model.
type fedPerOptions struct {
	PersonalOptions
	// values that stay with a client: "head", the last layer with its biases; "body", all but the
	// head; "features", those of options.features in every score of a linear model; "arrays", those of
	// an external model that options.arrays names; "all"; "none"
	Personal string `toml:"personal"`
	// numbers of the features whose values stay with a client, from 0 on; -1 is the last one, which
	// is the bias with data.bias
	Features []int `toml:"features"`
	// names of the arrays of an external model whose values stay with a client; * stands for any text
	// without /
	Arrays []string `toml:"arrays"`
}

func (o *fedPerOptions) Validate(c *config.Checker) {
	o.check(c, 0)
	c.OneOf("personal", o.Personal, personalHead, personalBody, personalFeatures, personalArrays, personalAll,
		personalNone)
	c.Require((o.Personal == personalArrays) == (len(o.Arrays) > 0), "arrays", o.Arrays,
		"must be set with personal = \"arrays\", and only then")
	for _, pattern := range o.Arrays {
		_, err := path.Match(pattern, "")
		c.Require(err == nil, "arrays", pattern, "must be a pattern: [ begins a list of characters")
	}
	c.Require((o.Personal == personalFeatures) == (len(o.Features) > 0), "features", o.Features,
		"must be set with personal = \"features\", and only then")
	for i, f := range o.Features {
		c.Require(f >= -1 && !slices.Contains(o.Features[:i], f), "features", o.Features,
			"must be different numbers of at least -1")
	}
}

type fedRepOptions struct {
	fedPerOptions
	// local passes over a client's rows per round that move its own values, before those that move
	// the shared values
	HeadEpochs float64 `toml:"head_epochs"`
}

func (o *fedRepOptions) Validate(c *config.Checker) {
	o.fedPerOptions.Validate(c)
	c.Require(o.HeadEpochs >= 0 && o.HeadEpochs <= 1e6, "head_epochs", o.HeadEpochs, "must be in [0, 1e6]")
}

// part is some values of a model.
type part struct {
	spans  []kit.Span // not nil
	values int
	flops  float64 // of a row of the local steps that move them
}

func (p *part) add(from, to int) {
	if n := len(p.spans); n > 0 && p.spans[n-1].To == from {
		p.spans[n-1].To = to
	} else if from < to {
		p.spans = append(p.spans, kit.Span{From: from, To: to})
	}
	p.values += to - from
}

// gather copies the values of the part from w.
func (p *part) gather(into, w []float64) {
	at := 0
	for _, s := range p.spans {
		at += copy(into[at:], w[s.From:s.To])
	}
}

// scatter copies the values of the part into w.
func (p *part) scatter(from, w []float64) {
	at := 0
	for _, s := range p.spans {
		at += copy(w[s.From:s.To], from[at:])
	}
}

// parts returns the values that stay with a client, and the shared ones. Those of a shape that is not
// known are none.
func (o *fedPerOptions) parts(shape mtl.Shape) (personal, shared part) {
	all, row := shape.Values(), shape.RowFLOPs()
	head, headFLOPs := shape.Head()
	headRow, bodyRow := shape.ScoreFLOPs()+headFLOPs, row-headFLOPs
	personal.spans, shared.spans = []kit.Span{}, []kit.Span{}
	switch o.Personal {
	case personalHead:
		shared.add(0, head)
		personal.add(head, all)
		personal.flops, shared.flops = headRow, bodyRow
	case personalBody:
		personal.add(0, head)
		shared.add(head, all)
		personal.flops, shared.flops = bodyRow, headRow
	case personalFeatures:
		d := shape.Features
		for j := range all {
			if f := j % d; slices.Contains(o.Features, f) || f == d-1 && slices.Contains(o.Features, -1) {
				personal.add(j, j+1)
			} else {
				shared.add(j, j+1)
			}
		}
		personal.flops = row - float64(2*float64(shared.values))
		shared.flops = row - float64(2*float64(personal.values))
	case personalArrays:
		at := 0
		for name, size := range arraysOf(shape) {
			to := &shared
			if o.stays(name) {
				to = &personal
			}
			to.add(at, at+size)
			at += size
		}
		personal.flops, shared.flops = row, row
	case personalAll:
		personal.add(0, all)
		personal.flops, shared.flops = row, row
	default:
		shared.add(0, all)
		personal.flops, shared.flops = row, row
	}
	return personal, shared
}

// stays reports whether the values of an array stay with a client.
func (o *fedPerOptions) stays(array string) bool {
	return slices.ContainsFunc(o.Arrays, func(pattern string) bool {
		matches, _ := path.Match(pattern, array) // Validate has seen that it is a pattern
		return matches
	})
}

// arraysOf returns the names and sizes of the arrays of an external model.
func arraysOf(shape mtl.Shape) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for line := range strings.Lines(shape.Given.Arrays) {
			at := strings.LastIndexByte(line, ' ')
			size, _ := strconv.Atoi(strings.TrimSpace(line[at+1:]))
			if !yield(line[:at], size) {
				return
			}
		}
	}
}

// checkArrays returns an error for arrays that an external model does not have, or that leave nothing to share.
func (o *fedPerOptions) checkArrays(shape mtl.Shape, shared int) error {
	if o.Personal != personalArrays {
		return nil
	}
	var names []string
	for name := range arraysOf(shape) {
		names = append(names, name)
	}
	if names == nil {
		return config.Problem{Key: "options.personal", Value: o.Personal,
			Want: "must be another: the program of the model does not say its shapes"}
	}
	for _, pattern := range o.Arrays {
		if !slices.ContainsFunc(names, (&fedPerOptions{Arrays: []string{pattern}}).stays) {
			return config.Problem{Key: "options.arrays", Value: pattern,
				Want: "must name arrays of the model, which has " + strings.Join(names, ", ")}
		}
	}
	if shared == 0 {
		return config.Problem{Key: "options.arrays", Value: o.Arrays, Want: "must leave an array to share"}
	}
	return nil
}

// learns returns the models that the method learns, and why no others.
func (o *fedPerOptions) learns() (models []string, because string) {
	switch o.Personal {
	case personalHead, personalBody:
		return []string{mtl.ModelMLP}, "with options.personal = \"" + o.Personal + "\": a linear model has one " +
			"layer, of which nothing would be shared; it has personal \"features\""
	case personalFeatures:
		return []string{mtl.ModelLinear}, "with options.personal = \"features\": others have layers"
	case personalArrays:
		return []string{mtl.ModelExternal}, "with options.personal = \"arrays\": the arrays of others have no names"
	}
	return nil, ""
}

// fedRep is federated averaging of a part of the model: a client keeps the other values, which start at those of the
// first model. In a round fedrep makes local steps from (the shared values of w, its own values) that move its own
// values alone, and then those that move the shared ones alone; fedper makes local steps that move all. The server
// averages the shared values.
type fedRep struct {
	personalized
	opts             fedRepOptions
	joint            bool // fedper
	personal, shared part
	w                data.Matrix  // one row: the shared values, and the first ones of the others
	head             kit.LocalSGD // the steps that move a client's own values
	space            []fedRepSpace
}

// fedRepSpace is a worker's own space.
type fedRepSpace struct{ start, change, own []float64 }

var _ algorithms.Stateful = (*fedRep)(nil)

func init() {
	registerPersonal(algorithms.Factory{
		Name:    "fedper",
		Summary: "averaging of a part of the model; each client keeps the rest, and moves all values together",
		Reference: "Arivazhagan, Aggarwal, Singh, Choudhary: Federated Learning with Personalization Layers, " +
			"arXiv:1912.00818, 2019",
		Options: func() algorithms.Options {
			return &fedPerOptions{PersonalOptions: defaultPersonal(), Personal: personalHead}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newFedRep(s, &fedRepOptions{fedPerOptions: *o.(*fedPerOptions)}, true)
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		return o.(*fedPerOptions).keeps(o.(*fedPerOptions).Workload(shape, false), shape)
	})
	registerPersonal(algorithms.Factory{
		Name:    "fedrep",
		Summary: "averaging of a part of the model; each client keeps the rest, which it fits before the shared part",
		Reference: "Collins, Hassani, Mokhtari, Shakkottai: Exploiting Shared Representations for Personalized " +
			"Federated Learning, ICML 2021",
		Options: func() algorithms.Options {
			return &fedRepOptions{fedPerOptions{PersonalOptions: defaultPersonal(), Personal: personalHead}, 10}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newFedRep(s, o.(*fedRepOptions), false)
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		opts := o.(*fedRepOptions)
		personal, shared := opts.parts(shape)
		// update returns the cost of an update of some values.
		update := func(p part) float64 {
			return float64(opts.UpdateFLOPs(shape, false) / float64(max(1, shape.Values())) * float64(p.values))
		}
		load := opts.Workload(shape, false)
		load.StepFLOPs = shared.flops
		if personal.values > 0 {
			load.StepFLOPs = min(personal.flops, shared.flops)
		}
		load.BatchSteps = nil
		load.Steps = func(rows, allowed int) int {
			head, body := opts.split(rows, allowed, personal, shared)
			return head + body
		}
		load.Batches = func(rows, steps int) int {
			head, body := opts.split(rows, steps, personal, shared)
			return opts.Updates(rows, head) + opts.Updates(rows, body)
		}
		load.FLOPs = func(rows, steps int) float64 {
			head, body := opts.split(rows, steps, personal, shared)
			return float64(float64(head)*personal.flops) + float64(float64(body)*shared.flops) +
				float64(float64(opts.Updates(rows, head))*update(personal)) +
				float64(float64(opts.Updates(rows, body))*update(shared))
		}
		return opts.keeps(load, shape)
	})
}

// keeps adds to a workload that clients keep a part of the model.
func (o *fedPerOptions) keeps(load algorithms.Workload, shape mtl.Shape) algorithms.Workload {
	personal, _ := o.parts(shape)
	load.Unsent, load.Kept, load.Working = personal.values, 1, 1
	return load
}

// split returns the rows of the steps that move a client's own values, and of those that move the shared ones.
func (o *fedRepOptions) split(rows, allowed int, personal, shared part) (head, body int) {
	wanted := algorithms.EpochSteps(o.HeadEpochs, rows)
	switch {
	case personal.values == 0:
		return 0, o.Steps(rows, allowed)
	case shared.values == 0:
		return min(wanted, allowed), 0
	}
	return o.Beside(rows, wanted, allowed)
}

func newFedRep(s algorithms.Setup, o *fedRepOptions, joint bool) (algorithms.Algorithm, error) {
	p := s.Problem
	for _, f := range o.Features {
		if f >= p.Features {
			return nil, config.Problem{Key: "options.features", Value: f,
				Want: fmt.Sprintf("must be below %d, the number of features", p.Features)}
		}
	}
	f := &fedRep{opts: *o, joint: joint, w: data.NewMatrix(1, p.Values())}
	f.personal, f.shared = o.parts(p.Shape)
	if err := o.checkArrays(p.Shape, f.shared.values); err != nil {
		return nil, err
	}
	p.Initial(s.Seed, f.w.Row(0))
	start := make([]float64, f.shared.values)
	f.shared.gather(start, f.w.Row(0))
	var err error
	global := kit.NewGlobalVectors(s, o.AverageOptions, 0, start, 1, len(start))
	if f.personalized, err = personalize(s, &o.PersonalOptions, s.Description.Name, f.personal.values,
		global); err != nil {
		return nil, err
	}
	f.head = f.LocalSGD // and its scratch space
	f.head.Options.Epochs = o.HeadEpochs
	for range s.Workers {
		f.space = append(f.space, fedRepSpace{make([]float64, p.Values()), make([]float64, f.shared.values),
			make([]float64, f.personal.values)})
	}
	f.evaluates(func(device, worker int, into []float64) { f.model(device, worker, f.Weights(), into) }, false)
	return f, nil
}

// model sets into to shared values and a device's own.
func (f *fedRep) model(device, worker int, shared, into []float64) {
	copy(into, f.w.Row(0))
	f.shared.scatter(shared, into)
	if f.held != nil && f.held.Load(device, f.space[worker].own) {
		f.personal.scatter(f.space[worker].own, into)
	}
}

// Solve makes the device's local steps.
func (f *fedRep) Solve(r algorithms.Request) algorithms.Response {
	space := &f.space[r.Worker]
	f.model(r.Device, r.Worker, f.Shown(), space.start)
	var u []float64
	response := algorithms.Response{}
	if f.joint {
		u, response.Steps = f.Descend(r, space.start, kit.Pull{Center: space.start})
	} else {
		head, body := f.opts.split(f.Problem.Train.Clients[r.Device].X.Rows, r.Steps, f.personal, f.shared)
		u = space.start
		steps := r
		if steps.Steps, steps.Stream = head, r.Branch(1); head > 0 {
			u, _ = f.head.Descend(steps, u, kit.Pull{Center: space.start, Moves: f.personal.spans})
		}
		if steps.Steps, steps.Stream = body, r.Stream; body > 0 {
			u, _ = f.Descend(steps, u, kit.Pull{Center: space.start, Moves: f.shared.spans})
		}
		response.Steps = head + body
	}
	response.FLOPs = f.FLOPs(r.Device, response.Steps)
	f.shared.gather(space.change, u)
	for j, sent := range f.Shown() {
		space.change[j] -= sent
	}
	f.Finish(r, space.change, &response)
	f.Changes.Store(r.Device, space.change)
	if f.next != nil {
		f.personal.gather(space.own, u)
		f.next.Store(r.Device, space.own)
	}
	return response
}

// End adds the mean of the changes to the shared values.
func (f *fedRep) End() (float64, error) {
	flops, err := f.personalized.End()
	f.shared.scatter(f.Weights(), f.w.Row(0))
	return flops, err
}

// Model returns w, whose values that stay with clients are the first ones, and the models of all devices.
func (f *fedRep) Model() algorithms.Model {
	model := f.personalized.Model()
	model.W = &f.w
	return model
}

// State codes the shared values and those of devices.
func (f *fedRep) State(c *state.Coder) {
	f.personalized.State(c)
	f.shared.scatter(f.Weights(), f.w.Row(0))
}

// Join writes a model of the shared values and the mean of the own values of clients that have taken part, of which the
// latter then fit the rows of a new client.
func (f *fedRep) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	copy(into, f.w.Row(0))
	joined := algorithms.Joined{Values: f.w.Cols}
	if f.held == nil {
		joined.FLOPs = n.Descend(into, n.Steps, f.Options.Step, f.Options.L2, 0, nil, nil)
		return joined
	}
	own, sum, count := make([]float64, f.personal.values), make([]float64, f.personal.values), 0.0
	for k := range f.Problem.Clients() {
		if f.held.Load(k, own) {
			kernel.Axpy(1, own, sum)
			count++
		}
	}
	if count > 0 && !f.global {
		for j := range sum {
			sum[j] /= count
		}
		f.personal.scatter(sum, into)
	}
	joined.FLOPs = n.Descend(into, n.Steps, f.Options.Step, f.Options.L2, 0, nil, func(g []float64) {
		at := 0
		for _, s := range f.personal.spans {
			clear(g[at:s.From])
			at = s.To
		}
		clear(g[at:])
	})
	return joined
}
