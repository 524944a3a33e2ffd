package checkpoint_test

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
)

// lists are vectors of a state, outside of it.
type lists struct {
	single []float32
	double [3][]float64
	places [4]state.Place
}

func newLists() *lists {
	const size = 1 << 15
	l := &lists{single: make([]float32, size)}
	for i := range l.double {
		l.double[i] = make([]float64, size)
	}
	return l
}

func (l *lists) state(c *state.Coder) {
	state.Vector(c, l.single, &l.places[0])
	for i := range l.double {
		state.Vector(c, l.double[i], &l.places[1+i])
	}
}

// set changes vector i.
func (l *lists) set(i int, x float64) {
	l.double[i][7], l.places[1+i] = x, state.Place{}
}

func (l *lists) equal(other *lists) bool {
	same := slices.EqualFunc(l.single, other.single,
		func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
	for i := range l.double {
		same = same &&
			slices.EqualFunc(l.double[i], other.double[i],
				func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	}
	return same
}

// A save writes the vectors that have changed behind the others. When more than half of the file is
// garbage, all of them go to another file. Every stored state reads back bit for bit, also after a save
// that fails.
func TestVectorsThatHaveNotChangedAreNotWrittenAgain(t *testing.T) {
	const single, double = 4 << 15, 8 << 15
	store := &checkpointtest.Store{Dir: t.TempDir()}
	saver := func() *checkpoint.Saver {
		return checkpoint.Policy{Store: store, Clock: time.Now}.Saver(t.Context(), "x")
	}
	sizes := func() (of [2]int64) {
		for i := range of {
			if info, err := os.Stat(store.Path("x", i)); err == nil {
				of[i] = info.Size()
			}
		}
		return of
	}
	written := newLists()
	written.single[3], written.double[1][5] = math.Float32frombits(0x7fc12345), math.Copysign(0, -1)
	s := saver()
	save := func(want ...int64) {
		t.Helper()
		expect.NoError(t, s.Save(written.state))
		got := sizes()
		expect.That(t, got == [2]int64(want), "files of %d bytes, want %d", got, want)
		read := newLists()
		c := expect.Value(saver().Restore())(t)
		if read.state(c); c.Err() != nil || !read.equal(written) {
			t.Errorf("read back equal: %t, %v", read.equal(written), c.Err())
		}
	}
	all := int64(single + 3*double)
	save(all, 0)
	save(all, 0)
	written.set(1, 5)
	save(all+double, 0)

	s = saver() // resumed
	c, _ := s.Restore()
	written.state(c)
	written.set(2, -1)
	save(all+2*double, 0)
	for i := range 5 {
		written.set(0, float64(i))
		save(all+int64(3+i)*double, 0)
	}
	written.set(0, 9) // more than 2 all + 1 MiB, of which all are live
	save(all+8*double, 0)
	store.Fails = "x"
	if err := s.Save(written.state); !errors.Is(err, checkpointtest.ErrFull) {
		t.Fatal(err)
	}
	if got := sizes(); got != [2]int64{all + 8*double, all} {
		t.Errorf("after a save that failed: files of %d bytes", got)
	}
	read := newLists()
	if c, _ := saver().Restore(); c != nil {
		if read.state(c); c.Err() != nil || !read.equal(written) {
			t.Errorf("the state before the save that failed: equal %t, %v", read.equal(written), c.Err())
		}
	}
	store.Fails = ""
	written.set(1, 3)
	save(0, all+double)
}

// Vectors that are corrupt, cut off or not there are errors.
func TestCorruptVectors(t *testing.T) {
	store := &checkpointtest.Store{Dir: t.TempDir()}
	saver := checkpoint.Policy{Store: store, Clock: time.Now}.Saver(t.Context(), "x")
	expect.NoError(t, saver.Save(newLists().state))
	path := store.Path("x", 0)
	restore := func() error {
		c := expect.Value(saver.Restore())(t)
		newLists().state(c)
		return c.Err()
	}
	content := expect.Value(os.ReadFile(path))(t)
	content[len(content)-9] ^= 4
	expect.NoError(t, os.WriteFile(path, content, 0o600))
	if err := restore(); err == nil ||
		!strings.Contains(err.Error(), "a vector of 32768 values is corrupt: its checksum does not match its content") {
		t.Errorf("a changed bit: %v", err)
	}
	expect.NoError(t, os.Truncate(path, int64(len(content)-1)))
	if err := restore(); !errors.Is(err, io.EOF) {
		t.Errorf("a file that is cut off: %v", err)
	}
	expect.NoError(t, os.Remove(path))
	if err := restore(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
