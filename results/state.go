package results

import "fedsim/internal/state"

// State names all of a round, to keep it bit for bit.
func (r *Round) State(c *state.Coder) {
	for _, x := range []*int{&r.Outer, &r.Round, &r.Participants, &r.Dropped, &r.Late} {
		c.Int(x)
	}
	for _, x := range []*float64{
		&r.TimeS, &r.Primal, &r.Dual, &r.Gap, &r.Suboptimality, &r.TrainError, &r.TestError,
		&r.FLOPs, &r.BytesDown, &r.BytesUp, &r.EnergyJ,
	} {
		c.Float64(x)
	}
	CodeList(c, &r.Thetas, (*Theta).state)
}

func (t *Theta) state(c *state.Coder) {
	c.Float64(&t.Value)
	c.Bool(&t.Answered)
}

// state names all of a run.
func (r *Run) State(c *state.Coder) {
	for _, x := range []*string{&r.ID, &r.Experiment, &r.Method, &r.Algorithm, (*string)(&r.Status), &r.Reason, &r.Limit, (*string)(&r.Vary)} {
		c.String(x)
	}
	CodeList(c, &r.Point, (*Setting).state)
	CodeList(c, &r.Tuned, (*Setting).state)
	CodeList(c, &r.Edges, (*Edge).state)
	c.Bool(&r.Real)
	c.Bool(&r.Relative)
	for _, x := range []*uint64{&r.Seed, &r.EventHash, &r.ModelHash} {
		c.Uint64(x)
	}
	for _, x := range []*int64{&r.Events, &r.Steps, &r.Capped} {
		CodeInt64(c, x)
	}
	for _, x := range []*float64{&r.Optimum, &r.OptimumGap, &r.WallS} {
		c.Float64(x)
	}
	CodeList(c, &r.Rounds, (*Round).State)
	c.String(&r.Model)
}

func (s *Setting) state(c *state.Coder) {
	c.String(&s.Key)
	c.String(&s.Value)
}

func CodeInt64(c *state.Coder, x *int64) {
	bits := uint64(*x)
	if c.Uint64(&bits); c.Reads() {
		*x = int64(bits)
	}
}

// CodeList names a list of any length. An empty one is read as nil.
func CodeList[T any](c *state.Coder, list *[]T, part func(*T, *state.Coder)) {
	n := c.Count(len(*list))
	if c.Reads() {
		*list = nil
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			var none T
			*list = append(*list, none)
		}
		part(&(*list)[i], c)
	}
}
