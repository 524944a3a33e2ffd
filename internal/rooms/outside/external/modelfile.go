package external

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// slots is the file of one process of an external model, which has w, g, the numbers of the rows of a
// mini-batch, and a table by row: the losses of rows and what predicts them, or weights. Both sides map it, but for
// systems where this side reads and writes it by calls. A file which the process cuts off is an error here, and no
// signal. It has nothing else, so that a process which writes where it must not spoils its own answers only.
type slots struct {
	values, most int  // of the model; rows of a mini-batch
	single       bool // values are float32
	rows, w, g   int64
	byRow        int64 // float64; the end of the file if there is no table
	size         int64
	file         *os.File
	path         string // for the process
	mapped       []byte // nil: there are no mappings here
	copied       []byte // in place of it: a slot on its way to the file, or from it
}

// pageBytes is a multiple of the pages of all processors.
const pageBytes = 1 << 16

// valueBytes returns the bytes of a value.
func valueBytes(single bool) int64 {
	if single {
		return 4
	}
	return 8
}

// paged returns the least multiple of a page that is at least n.
func paged(n int64) int64 { return (n + pageBytes - 1) / pageBytes * pageBytes }

// newSlotsOf returns the slots of a model, with a table of so many numbers, which begin at pages, without their file.
func newSlotsOf(values, most, table int, single bool) *slots {
	s := &slots{values: values, most: most, single: single}
	s.w = paged(int64(4 * most))
	s.g = s.w + paged(int64(values)*valueBytes(single))
	s.byRow = s.g + paged(int64(values)*valueBytes(single))
	s.size = s.byRow + paged(8*int64(table))
	return s
}

// bytes returns the size of the file.
func (s *slots) bytes() float64 { return float64(s.size) }

// newSlot returns a slot w alone, of float64, without its file.
func newSlot(values int) *slots { return &slots{values: values, size: paged(8 * int64(values))} }

// reserve makes the file, all of whose space is there.
func (s *slots) reserve() (err error) {
	zeros := make([]byte, 1<<20)
	s.file, s.path, err = sharedFile(s.size, "w and g", func(to io.Writer) error {
		for left := s.size; left > 0; left -= int64(len(zeros)) {
			if _, err := to.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.mapped = mapFile(s.file, int(s.size))
	}
	if s.mapped == nil {
		s.copied = make([]byte, int64(s.values)*valueBytes(s.single))
	}
	return err
}

// inMapping calls a function that reads or writes the mapped file. A fault of the processor, as where the process has
// cut off the file, is an error here, and nothing that was read counts.
func (s *slots) inMapping(do func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // the address of a fault
			if err = s.complete(); err == nil {
				err = fmt.Errorf("the memory of the file of w and g has a fault at address %#x: "+
					"its folder may have no space, or the file was cut off and is whole again", cause.Addr())
			}
		default:
			panic(cause)
		}
	}()
	do()
	return s.complete()
}

// complete reports a file that does not have all its bytes. (The end of a page can be read without them.)
func (s *slots) complete() error {
	about, err := s.file.Stat()
	if err == nil && about.Size() < s.size {
		err = s.cutOff(about.Size())
	}
	return err
}

// cutOff returns the error of a file of so many bytes.
func (s *slots) cutOff(bytes int64) error {
	return fmt.Errorf("has cut off the file of w and g: it has %d bytes, must have %d", bytes, s.size)
}

// write writes values to a slot, rounded where they are single.
func (s *slots) write(at int64, x []float64) error {
	if s.mapped != nil {
		return s.inMapping(func() { s.fill(s.mapped[at:], x) })
	}
	s.fill(s.copied, x)
	_, err := s.file.WriteAt(s.copied, at)
	return err
}

// fill writes values to the memory of a slot.
func (s *slots) fill(slot []byte, x []float64) {
	if s.single {
		kernel.Round32(x, numbersOf[float32](slot, len(x)))
	} else {
		copy(numbersOf[float64](slot, len(x)), x)
	}
}

// writeRows writes the numbers of rows.
func (s *slots) writeRows(rows []int32) error {
	if s.mapped != nil {
		return s.inMapping(func() { copy(numbersOf[int32](s.mapped[s.rows:], len(rows)), rows) })
	}
	_, err := s.file.WriteAt(bytesOf(rows), s.rows)
	return err
}

// writeTable writes numbers to the table by row.
func (s *slots) writeTable(x []float64) error {
	if s.mapped != nil {
		return s.inMapping(func() { copy(numbersOf[float64](s.mapped[s.byRow:], len(x)), x) })
	}
	_, err := s.file.WriteAt(bytesOf(x), s.byRow)
	return err
}

// readTable reads the first numbers of the table by row.
func (s *slots) readTable(x []float64) error {
	if s.mapped != nil {
		return s.inMapping(func() { copy(x, numbersOf[float64](s.mapped[s.byRow:], len(x))) })
	}
	n, err := s.file.ReadAt(bytesOf(x), s.byRow)
	if err == io.EOF {
		return s.cutOff(s.byRow + int64(n))
	}
	return err
}

// read calls use with the memory of a slot.
func (s *slots) read(at int64, use func(slot []byte)) error {
	if s.mapped != nil {
		return s.inMapping(func() { use(s.mapped[at:]) })
	}
	n, err := s.file.ReadAt(s.copied, at)
	switch {
	case err == io.EOF || n < len(s.copied):
		return s.cutOff(at + int64(n))
	case err != nil:
		return err
	}
	use(s.copied)
	return nil
}

// initial reads the values of the slot w.
func (s *slots) initial(w []float64) error {
	return s.read(s.w, func(slot []byte) { s.values64(slot, 0, w) })
}

// gradient sets into to scale times the values of the slot g that have a gradient. The others, at the end,
// are the new values of buffers.
func (s *slots) gradient(scale float64, into, buffers []float64) error {
	return s.read(s.g, func(slot []byte) {
		if s.single {
			kernel.Scale32(scale, numbersOf[float32](slot, len(into)), into)
		} else {
			kernel.Scale(scale, numbersOf[float64](slot, len(into)), into)
		}
		s.values64(slot, len(into), buffers)
	})
}

// values64 reads the values of a slot from one on.
func (s *slots) values64(slot []byte, from int, x []float64) {
	if !s.single {
		copy(x, numbersOf[float64](slot, from+len(x))[from:])
		return
	}
	for i, v := range numbersOf[float32](slot, from+len(x))[from:] {
		x[i] = float64(v)
	}
}

// remove removes the file, if there is one.
func (s *slots) remove() {
	if s != nil {
		unmapFile(s.mapped)
		s.mapped = nil
		removeFile(s.file)
	}
}

// bytesOf returns the memory of numbers, in the byte order of the machine.
func bytesOf[T float64 | float32 | int32](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// numbersOf returns the first n numbers of memory that begins at a multiple of their size.
func numbersOf[T float64 | float32 | int32](of []byte, n int) []T {
	_ = of[:n*int(unsafe.Sizeof(*new(T)))] // panics beyond the end
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(of))), n)
}

// sharedFile makes a file that processes map, in memory if there is space, otherwise in the folder of
// temporary files, and fills it. Its path is for the processes. On Linux the file has no name, so
// that nothing is left of it when fedsim is killed.
func sharedFile(size int64, what string, fill func(io.Writer) error) (f *os.File, path string, err error) {
	for _, folder := range []string{"/dev/shm", os.TempDir()} {
		f, failed := os.CreateTemp(folder, "fedsim-model-")
		if failed == nil {
			if failed = fill(f); failed == nil {
				return f, hide(f), nil
			}
			removeFile(f)
		}
		err = fmt.Errorf("there is no space for %s, %d bytes: %w", what, size, failed)
	}
	return nil, "", err
}

// hide removes the name of a file where processes can open it without one, and returns its path.
func hide(f *os.File) string {
	if runtime.GOOS != "linux" {
		return f.Name()
	}
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
	other, err := os.Open(path)
	if err != nil {
		return f.Name()
	}
	_ = other.Close()
	if os.Remove(f.Name()) != nil {
		return f.Name()
	}
	return path
}

// removeFile closes a file and removes it, if it has a name.
func removeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// dataKey is what a file with rows is made of.
type dataKey struct {
	train  *data.Set
	single bool
}

// dataFile returns the file with the rows of a split, which all processes share.
func (l *Learners) dataFile(split *data.Split, single bool) *dataFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := dataKey{split.Train, single}
	if l.files == nil {
		l.files = map[dataKey]*dataFile{}
	}
	if l.files[key] == nil {
		l.files[key] = &dataFile{split: split, single: single}
	}
	return l.files[key]
}

// dataFile is a file with the rows of fedsim, which all processes of models and methods map for reading.
type dataFile struct {
	split  *data.Split
	single bool // features are float32
	once   sync.Once
	file   *os.File
	of     *dataLayout
	err    error
}

// layout returns where the rows are, and makes the file at first; nil if there is none.
func (d *dataFile) layout() (*dataLayout, error) {
	if d == nil {
		return nil, nil
	}
	d.once.Do(func() {
		d.of = &dataLayout{Features: d.split.Train.Features, Train: new(partLayout), Test: new(partLayout)}
		if d.split.Validation != nil {
			d.of.Validation = new(partLayout)
		}
		size := int64(0)
		layouts := []*partLayout{d.of.Train, d.of.Test, d.of.Validation}
		for i, set := range d.split.Parts() {
			size = layouts[i].place(set, size, d.single)
		}
		d.file, d.of.Path, d.err = sharedFile(size, "the rows", func(to io.Writer) error {
			for _, set := range d.split.Parts() {
				if err := d.write(to, set); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return d.of, d.err
}

// place sets where the rows of a set are, from a byte on, and returns the byte behind them.
func (l *partLayout) place(set *data.Set, at int64, single bool) int64 {
	rows := int64(set.Rows())
	l.Rows = make([]int32, len(set.Clients))
	for k := range set.Clients {
		l.Rows[k] = int32(set.Clients[k].X.Rows)
	}
	l.X = at
	l.Y = l.X + paged(rows*int64(set.Features)*valueBytes(single))
	return l.Y + paged(8*rows)
}

// write writes the features and the targets of a set, each up to the end of a page.
func (d *dataFile) write(to io.Writer, set *data.Set) error {
	out := bufio.NewWriterSize(to, 1<<20)
	space := data.NewMatrix(1, set.Features)
	narrow := make([]float32, set.Features)
	for k := range set.Clients {
		client := set.Open(k)
		for i := range client.X.Rows {
			row := bytesOf(client.X.Values(i, space.Row(0))[:set.Features])
			if d.single {
				for j, v := range client.X.Values(i, space.Row(0))[:set.Features] {
					narrow[j] = float32(v)
				}
				row = bytesOf(narrow)
			}
			_, _ = out.Write(row) // Flush has the error
		}
		client.Close()
	}
	rows := int64(set.Rows())
	fillPage(out, rows*int64(set.Features)*valueBytes(d.single))
	for k := range set.Clients {
		client := set.Open(k)
		for _, y := range client.Y {
			_ = binary.Write(out, binary.NativeEndian, math.Float64bits(y))
		}
		client.Close()
	}
	fillPage(out, 8*rows)
	return out.Flush()
}

// fillPage writes zeros from a byte up to the end of its page.
func fillPage(out *bufio.Writer, from int64) {
	_, _ = out.Write(make([]byte, paged(from)-from))
}

// remove removes the file, if there is one.
func (d *dataFile) remove() { removeFile(d.file) }
