package formats

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// matWriter writes MATLAB 5 files in one of the orders of bytes.
type matWriter struct {
	binary.AppendByteOrder
	mark string
}

var matOrders = []matWriter{{binary.LittleEndian, "IM"}, {binary.BigEndian, "MI"}}

func (w matWriter) file(elements ...[]byte) []byte {
	head := []byte("MATLAB 5.0 MAT-file" + strings.Repeat(" ", 105))
	return append(append(w.AppendUint16(head, 0x100), w.mark...), bytes.Join(elements, nil)...)
}

// element returns an element, in the small form if it fits.
func (w matWriter) element(kind uint32, content []byte) []byte {
	if n := uint32(len(content)); n >= 1 && n <= 4 {
		return append(w.AppendUint32(nil, n<<16|kind), append(content, make([]byte, 4-n)...)...)
	}
	b := append(w.AppendUint32(w.AppendUint32(nil, kind), uint32(len(content))), content...)
	return append(b, make([]byte, -len(content)&7)...)
}

func (w matWriter) array(flags uint32, name string, shape []int32, elements ...[]byte) []byte {
	sizes := []byte{}
	for _, n := range shape {
		sizes = w.AppendUint32(sizes, uint32(n))
	}
	head := [][]byte{w.element(6, w.AppendUint32(w.AppendUint32(nil, flags), 0)), w.element(5, sizes),
		w.element(1, []byte(name))}
	return w.element(14, bytes.Join(append(head, elements...), nil))
}

// doubles returns a matrix of class double with numbers of type 9.
func (w matWriter) doubles(name string, rows, columns int32, values ...float64) []byte {
	b := []byte{}
	for _, v := range values {
		b = w.AppendUint64(b, math.Float64bits(v))
	}
	return w.array(6, name, []int32{rows, columns}, w.element(9, b))
}

func (w matWriter) cells(name string, cells ...[]byte) []byte {
	return w.array(1, name, []int32{1, int32(len(cells))}, cells...)
}

func (w matWriter) packed(element []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, _ = z.Write(element)
	_ = z.Close()
	return append(w.AppendUint32(w.AppendUint32(nil, 15), uint32(out.Len())), out.Bytes()...)
}

// small returns a set of two tasks with one and two rows of two features.
func (w matWriter) small() [][]byte {
	bytes := w.array(9, "", []int32{2, 2}, w.element(2, []byte{1, 2, 3, 4})) // uint8, in the small form
	return [][]byte{
		w.cells("X", w.doubles("", 1, 2, 0.1, -2), bytes),
		w.cells("Y", w.array(6, "", []int32{1, 1}, w.element(1, []byte{0xff})), w.doubles("", 1, 2, 1, 0.5)),
	}
}

func readMAT(tb testing.TB, content []byte, arrays data.ArraysConfig) (*data.Set, error) {
	tb.Helper()
	path := filetest.New(tb, "set.mat", content)
	return readMATLAB(data.Config{Arrays: arrays}, path)
}

func TestReadMATLAB(t *testing.T) {
	for _, w := range matOrders {
		small := w.small()
		for _, content := range [][]byte{
			w.file(small...),
			w.file(w.packed(small[1]), w.doubles("Z", 0, 0), w.packed(w.doubles("W", 1, 1, math.NaN())),
				w.packed(small[0])),
		} {
			set := expect.Value(readMAT(t, content, data.ArraysConfig{}))(t)
			checkShape(t, set)
			first, second := &set.Clients[0], &set.Clients[1]
			if diff := cmp.Diff([][]float64{{0.1, -2}, {1, 3}, {2, 4}, {-1}, {1, 0.5}},
				[][]float64{first.X.Row(0), second.X.Row(0), second.X.Row(1), first.Y, second.Y}); diff != "" {
				t.Error(diff)
			}
			expect.That(t, first.Name == "1" && second.Name == "2" && set.Features == 2, "%+v", set)
		}
	}
}

// scipyFile returns a file that make.py of the tests of package data wrote.
func scipyFile(tb testing.TB, name string) []byte {
	return filetest.Base64(tb, filepath.Join("..", "testdata", "scipy", name+".b64"))
}

// scipyRow returns row i of task t of make.py.
func scipyRow(dtype string, t, i int) []float64 {
	row := make([]float64, 3)
	for j := range row {
		row[j] = float64(20*t + 5*i + j)
		if dtype[0] != 'u' && j == 1 {
			row[j] = -row[j]
		}
		if dtype[0] == 'f' {
			row[j] /= 8
		}
	}
	return row
}

func TestReadMATLABOfSciPy(t *testing.T) {
	for _, dtype := range []string{"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"} {
		set := expect.Value(readMAT(t, scipyFile(t, dtype+".mat"), data.ArraysConfig{}))(t)
		checkShape(t, set)
		for k := range 3 {
			task := &set.Clients[k]
			expect.Must(t, task.X.Rows == k+2, "%s: task %d has %d rows", dtype, k, task.X.Rows)
			for i := range task.X.Rows {
				if diff := cmp.Diff(scipyRow(dtype, k, i), task.X.Row(i)); diff != "" || task.Y[i] != float64(k-i) {
					t.Errorf("%s: task %d, row %d, target %v: %s", dtype, k, i, task.Y[i], diff)
				}
			}
		}
	}
}

// Rows in one matrix belong to the tasks of a third, or to one.
func TestReadMATLABMatrix(t *testing.T) {
	content := scipyFile(t, "matrix.mat")
	set, err := readMAT(t, content, data.ArraysConfig{Features: "features", Targets: "labels", Clients: "school"})
	expect.NoError(t, err)
	for k, want := range []string{"1", "2", "3"} { // make.py: 3 rows of task 1 behind 2 of task 3
		task := &set.Clients[k]
		from := []int{1, 2, 0}[k]
		if task.Name != want || task.X.Rows != []int{3, 4, 2}[k] ||
			!cmp.Equal(task.X.Row(1), scipyRow("f8", from, 1)) || task.Y[1] != float64(from-1) {
			t.Errorf("%+v", task)
		}
	}
	set, err = readMAT(t, content, data.ArraysConfig{Features: "features", Targets: "labels"})
	expect.That(t, err == nil && len(set.Clients) == 1 && set.Clients[0].Name == "all" && set.Rows() == 9,
		"%+v, %v", set, err)
}

func TestReadMATLABErrors(t *testing.T) {
	w := matOrders[0]
	one := func(x ...[]byte) []byte { return w.file(append(x, w.cells("Y", w.doubles("", 1, 1, 1)))...) }
	cells := func(x ...[]byte) []byte { return one(w.cells("X", x...)) }
	small := w.file(w.small()...)
	packed := w.file(w.packed(w.small()[0]))
	version := bytes.Clone(small)
	version[125] = 3
	broken := bytes.Clone(packed)
	broken[len(broken)-1]++
	for _, c := range []struct {
		content []byte
		arrays  data.ArraysConfig
		want    string
	}{
		{nil, data.ArraysConfig{}, "is not a MATLAB 5 file: save it in MATLAB with"},
		{[]byte("MATLAB 7.3 MAT-file"), data.ArraysConfig{},
			`is a MATLAB 7.3 file (HDF5), must be MATLAB 5: save it in MATLAB with save(name, "X", "Y", "-v7"), ` +
				`or with scipy.io.savemat`},
		{make([]byte, 200), data.ArraysConfig{}, "is a MATLAB 4 file, must be MATLAB 5: save it"},
		{version, data.ArraysConfig{}, "has version 0x300 of the format, must be 0x100"},
		{small[:len(small)-1], data.ArraysConfig{},
			fmt.Sprintf("byte %d: is corrupt or truncated", matHead+len(w.small()[0]))},
		{small[:140], data.ArraysConfig{}, "byte 128: is corrupt or truncated"},
		{packed[:len(packed)-6], data.ArraysConfig{}, "byte 128: is corrupt or truncated"},
		{broken, data.ArraysConfig{},
			`variable "X", cell 2: cannot be read: the file may be corrupt: zlib: invalid checksum`},
		{small, data.ArraysConfig{Features: "Z"}, `has no variable "Z" (data.arrays.features), it has others: X`},
		{small, data.ArraysConfig{Clients: "Y"}, `has no variable "Y" (data.arrays.clients)`},
		{w.file(w.small()[0]), data.ArraysConfig{}, `has no variable "Y" (data.arrays.targets)`},
		{one(w.doubles("X", 1, 2, 1, 2)), data.ArraysConfig{},
			`"X" has a matrix, "Y" has 1 cells: must be cells of the same clients, or both matrices`},
		{one(w.cells("X")), data.ArraysConfig{}, `variable "X": has 0 cells: must have one for each client`},
		{cells(w.doubles("", 1, 1, math.Inf(-1))), data.ArraysConfig{},
			`variable "X", cell 1: row 1, column 1: -Inf is not a finite number`},
		{cells(w.doubles("", 1, 3, 1, 2, 1e200)), data.ArraysConfig{},
			`variable "X", cell 1: row 1, column 3: 1e+200 is too large`},
		{cells(w.doubles("", 2, 2, 1, 2, 3, 4)), data.ArraysConfig{},
			`variable "X", cell 1: the features have 2 rows, the targets 1`},
		{w.file(w.doubles("X", 1, 2, 1, 2), w.doubles("Y", 2, 1, 1, 2)), data.ArraysConfig{},
			`variable "X": the features are 1 x 2 for 2 targets: must have a row for each target; transpose them`},
		{w.file(w.doubles("X", 2, 1, 1, 2), w.doubles("Y", 2, 1, 1, 2), w.doubles("T", 1, 1, 1)),
			data.ArraysConfig{Clients: "T"}, `variable "X": has 2 rows, "T" has 1`},
		{w.file(append(w.small(), w.doubles("T", 1, 1, 1))...), data.ArraysConfig{Clients: "T"},
			"each cell is a client"},
		{w.file(w.doubles("Y", 2, 2, 1, 2, 3, 4)), data.ArraysConfig{},
			`variable "Y": is 2 x 2: must be one number for each row of "X"`},
		{w.file(w.cells("X", w.doubles("", 1, 1, 1), w.doubles("", 1, 2, 1, 2)),
			w.cells("Y", w.doubles("", 1, 1, 1), w.doubles("", 1, 1, 1))), data.ArraysConfig{},
			`variable "X", cell 2: is 1 x 2, the first cell has 1 columns`},
		{cells(w.element(14, nil)), data.ArraysConfig{}, `variable "X", cell 1: is empty (0 x 0)`},
		{cells(w.array(5, "", []int32{2, 2})), data.ArraysConfig{},
			`variable "X", cell 1: is sparse: save full(...) of it`},
		{cells(w.array(4, "", []int32{1, 1})), data.ArraysConfig{},
			`variable "X", cell 1: must have numbers, or be cells of them`},
		{cells(w.array(6|matComplex, "", []int32{1, 1})), data.ArraysConfig{},
			`variable "X", cell 1: has complex numbers: must have real ones`},
		{cells(w.array(6, "", []int32{1, 1, 1})), data.ArraysConfig{},
			`variable "X", cell 1: has 3 sizes: must be a matrix`},
		{cells(w.array(6, "", []int32{1, 3}, w.element(9, make([]byte, 8)))), data.ArraysConfig{},
			`variable "X", cell 1: has 8 bytes of numbers of type 9 for a size of 1 x 3`},
		{cells(w.array(6, "", []int32{1 << 30, 1 << 30}, w.element(9, make([]byte, 8)))), data.ArraysConfig{},
			`variable "X", cell 1: is corrupt or truncated`},
	} {
		_, err := readMAT(t, c.content, c.arrays)
		if _, ok := errors.AsType[*data.ParseError](err); !ok ||
			!strings.Contains(err.Error(), "set.mat: "+c.want) && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// The sums are those of SciPy. loadmat gives 139 cells of 28 features, with 15,362 rows.
func TestRealSchool(t *testing.T) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceMATLAB, filetest.Real(t, "school.mat"), data.TargetReal
	set := loaded(t, cfg)
	if set.Name != "school" || len(set.Clients) != 139 || set.Features != 28 || set.Rows() != 15362 || !set.Real {
		t.Fatalf("%s: %d tasks, %d features, %d rows", set.Name, len(set.Clients), set.Features, set.Rows())
	}
	x, y := 0.0, 0.0
	for k := range set.Clients {
		task := &set.Clients[k]
		for i := range task.X.Rows {
			y += task.Y[i]
			for _, v := range task.X.Row(i) {
				x += v
			}
		}
	}
	last := &set.Clients[138]
	if x != 1076348 || y != 316416 || last.Name != "139" || last.X.Row(last.X.Rows - 1)[3] != 38 ||
		last.Y[last.X.Rows-1] != 18 {
		t.Errorf("sums %v and %v, last task %s", x, y, last.Name)
	}
}

// FuzzMATLAB changes files of both orders, packed and not.
func FuzzMATLAB(f *testing.F) {
	for _, w := range matOrders {
		small := w.small()
		f.Add(w.file(small...))
		f.Add(w.file(w.packed(small[0]), w.packed(small[1])))
		f.Add(w.file(w.doubles("X", 2, 1, 1, 2), w.doubles("Y", 2, 1, 1, 2), w.doubles("T", 1, 2, 1, 2)))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, tasks := range []string{"", "T"} {
			set, err := readMAT(t, content, data.ArraysConfig{Clients: tasks})
			if !refused(t, err) {
				checkShape(t, set)
			}
		}
	})
}
