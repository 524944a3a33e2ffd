package external

import (
	"errors"
	"fmt"
	"slices"

	"fedsim/algorithms"
)

// codedAtOnce is the most clients of a request for local work whose changes are coded.
const codedAtOnce = 16

// coded are the codes of the messages of a learner of the problem's model, and the file through which the vectors pass:
// its first row is the model as clients decode it, or row i the change of client i of the last request for local work.
type coded struct {
	link  *algorithms.Link
	file  *slots
	rows  []float64
	whole int // bytes of a vector that is not compressed
	taken int // responses, in a run without rounds
}

var errUncoded = errors.New("must be without compression: fedsim does not see the vectors of this learner")

// passage is the file of the vectors that are coded.
type passage struct {
	Path string `json:"path"`
	Rows int    `json:"rows"`
}

// code makes the codes of messages and their file, whose first row is the initial model; nil: there is no compression.
func (l *Learner) code(s *algorithms.Setup) (*passage, error) {
	if s.Coding == nil {
		return nil, nil
	}
	if !slices.Contains(l.process.hello.can, canCoded) {
		return nil, errUncoded
	}
	values, rows := l.w.Cols, min(codedAtOnce, l.clients)
	l.codes = &coded{link: algorithms.NewLink(*s, 1, 1, values, false), rows: make([]float64, rows*values),
		file: newSlot(rows * values), whole: s.ValueBytes * values}
	if err := l.codes.file.reserve(); err != nil {
		return nil, err
	}
	return &passage{l.codes.file.path, rows}, l.codes.file.write(0, l.w.Row(0))
}

// link returns the codes of messages; nil: they are not compressed.
func (l *Learner) link() *algorithms.Link {
	if l.codes == nil {
		return nil
	}
	return l.codes.link
}

// show hands the learner the model as clients decode it.
func (l *Learner) show(op string) {
	if err := l.codes.file.write(0, l.codes.link.Shown(0, l.w.Row(0))); err != nil {
		l.fail(op, err)
	}
}

// alone reports a message to clients that has more than the model.
func (l *Learner) alone(op string, bytes int) {
	if l.err == nil && bytes != l.codes.whole {
		l.fail(op, fmt.Errorf("down_bytes = %d: must be %d with compression, of the model alone", bytes,
			l.codes.whole))
	}
}

// pass codes the changes of clients, and hands the learner what the server decodes.
func (l *Learner) pass(requests []algorithms.Request, into []algorithms.Response) {
	c, values := l.codes, l.w.Cols
	if err := c.file.initial(c.rows); err != nil {
		l.fail("solve", err)
		return
	}
	clients := make([]int32, len(requests))
	for i, r := range requests {
		if clients[i] = int32(r.Device); into[i].Values != c.whole {
			l.fail("solve", fmt.Errorf("client %d: up_bytes = %d: must be %d with compression, of the change alone",
				r.Device, into[i].Values, c.whole))
			return
		}
		into[i].Values = 0
		c.link.Finish(r, c.rows[i*values:][:values], &into[i])
	}
	if err := c.file.write(0, c.rows); err != nil {
		l.fail("coded", err)
		return
	}
	l.send(request{Op: "coded", Run: l.run, Round: &l.round, Clients: clients}, none)
}
