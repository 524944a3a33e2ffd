package driven

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/state"
)

// mostMarks bounds the digests that a checkpoint holds.
const mostMarks = 4096

// digests are running digests of the lines of a driver, one for each stride of lines. A
// driver that resumes sends all lines again, and the engine does them again: virtual time
// costs little. So the digests of the lines are all that a checkpoint has to hold. The
// stride doubles when there are too many digests.
type digests struct {
	saver *checkpoint.Saver // nil: there are no checkpoints
	now   marks
	old   marks // of the interrupted run
	sum   hash.Hash
	block [sha256.Size]byte
}

// marks are digests of the first lines of a run.
type marks struct {
	lines  int
	last   uint64
	stride int
	at     []uint64 // after stride, 2 stride, ... lines
}

// newDigests restores the digests of an interrupted run, if there is one.
func newDigests(saver *checkpoint.Saver) (*digests, error) {
	d := &digests{saver: saver, now: marks{stride: 1}, sum: sha256.New()}
	_, err := saver.Load(d.old.state)
	return d, err
}

func (m *marks) state(c *state.Coder) {
	c.Int(&m.lines)
	c.Uint64(&m.last)
	c.Int(&m.stride)
	n := c.Count(len(m.at))
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			m.at = append(m.at, 0)
		}
		c.Uint64(&m.at[i])
	}
	if c.Err() == nil && (m.stride < 1 || m.lines < 0 || len(m.at) != m.lines/m.stride) {
		c.Fail(fmt.Errorf("%d digests of every %d lines of %d", len(m.at), m.stride, m.lines))
	}
}

// add adds a line. It reports where the lines differ from those of the interrupted run.
func (d *digests) add(line []byte) error {
	m := &d.now
	d.sum.Reset()
	d.sum.Write(binary.BigEndian.AppendUint64(d.block[:0], m.last))
	d.sum.Write(line)
	m.last = binary.BigEndian.Uint64(d.sum.Sum(d.block[:0]))
	m.lines++
	if m.lines%m.stride == 0 {
		if m.at = append(m.at, m.last); len(m.at) > mostMarks {
			for i := 1; i < len(m.at); i += 2 {
				m.at[i/2] = m.at[i]
			}
			m.at, m.stride = m.at[:len(m.at)/2], 2*m.stride
		}
	}
	return d.old.check(m)
}

// end reports lines of the interrupted run that a driver has not sent before it finishes.
func (d *digests) end([]byte) error {
	if d.now.lines < d.old.lines {
		return fmt.Errorf(
			"comes after %d lines, and the run to resume has %d: a resumed driver must send the same lines again",
			d.now.lines, d.old.lines)
	}
	return nil
}

// check compares the last digest of a repeated run with those of the first.
func (m *marks) check(again *marks) error {
	n := again.lines
	switch {
	case n > m.lines:
		return nil
	case n == m.lines && again.last == m.last:
		return nil
	case n < m.lines && (n%m.stride != 0 || m.at[n/m.stride-1] == again.last):
		return nil
	}
	first := (n - 1) / m.stride * m.stride // the last line that was known to be equal
	where := fmt.Sprintf("line %d differs", n)
	if n-first > 1 {
		where = fmt.Sprintf("a line of %d to %d differs", first+1, n)
	}
	return fmt.Errorf("%s from that of the run to resume: a resumed driver must send the same lines again, "+
		"or start over with --force", where)
}

// digest returns the digest of all lines as text.
func (m *marks) digest() string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, m.last))
}

// save stores the digests, unless the stored ones are of more lines.
func (d *digests) save() error {
	if d.saver == nil || d.now.lines <= d.old.lines {
		return nil
	}
	return d.saver.Save(d.now.state)
}

// saveDue stores the digests if the last checkpoint is old enough.
func (d *digests) saveDue() error {
	if !d.saver.Due() {
		return nil
	}
	return d.save()
}
