package algorithms

import (
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
)

// codedDual is the state of a dual method whose messages are compressed. A device takes its whole
// change of the dual variables. The server adds the decoded change to its copy V~ of V. The
// residual e_k is sent with later messages (error feedback):
//
//	V~_t = V_t - gamma sum_k e_k,    V = X a
//
// over the devices of task t. The server's W = grad R*(V~) is a point of the primal problem, and a is one of
// the dual, so that P(W) + D(a) is a certificate whatever was left out. A device knows its own
// e_k: it starts from w_t + gamma M_tt e_k, at which only the changes of others are missing.
type codedDual struct {
	link   *Link
	v      data.Matrix // V~, by task
	delta  data.Matrix // tentative changes as the server decodes them, by device
	starts data.Matrix // models that devices start from, by device
}

// newCodedDual returns the state at a = 0; nil without compression.
func newCodedDual(s Setup) *codedDual {
	p := s.Problem
	link := NewLink(s, 1, 1, p.Values(), true)
	if link == nil {
		return nil
	}
	return &codedDual{
		link: link, v: p.NewWeights(),
		delta: data.NewMatrix(p.Clients(), p.Values()), starts: data.NewMatrix(p.Clients(), p.Values()),
	}
}

// Link returns the codes of the messages; nil: they are not compressed.
func (d *Dual) Link() *Link {
	if d.coded == nil {
		return nil
	}
	return d.coded.link
}

// lossy reports whether the server lacks a part of V.
func (d *Dual) lossy() bool { return d.coded != nil && d.coded.link.feedback }

// begin sends each device its w_t.
func (c *codedDual) begin(d *Dual) int {
	gamma := d.Problem.Config.Gamma
	encode, _ := c.link.down.FLOPs(d.Problem.Values())
	c.link.flops += float64(encode * float64(d.W.Rows))
	for k := range c.starts.Rows {
		t := d.Problem.TaskOf(k)
		start := c.starts.Row(k)
		copy(start, d.W.Row(t))
		c.link.Show(start)
		if left := c.link.Residual(0, k); left != nil {
			kernel.Axpy(gamma*d.Coupling.Diag(t), left, start)
		}
	}
	return c.link.downs[0].bytes
}

// Show replaces a model by its decoded message, for a server that sends each device
// its own, and returns its size.
func (l *Link) Show(v []float64) (bytes int) {
	return l.down.Code(v, rng.Stream{}) // without draws
}

// state codes the server's copy of V, the residuals and the tentative work.
func (c *codedDual) state(coder *state.Coder) {
	CodeRows(coder, &c.v)
	CodeRows(coder, &c.delta)
	CodeRows(coder, &c.starts)
	c.link.State(coder)
}
