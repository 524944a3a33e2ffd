package data

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// npyBytes returns an array of format 1, 2 or 3 with numbers of the type of descr.
func npyBytes(version byte, descr, shape string, fortran bool, values any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr,
		map[bool]string{true: "True", false: "False"}[fortran], shape)
	b := []byte("\x93NUMPY" + string(rune(version)) + "\x00")
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	b, err := binary.Append(append(b, header...), order.(binary.ByteOrder), values)
	if err != nil {
		panic(err)
	}
	return b
}

// npzBytes returns an npz file.
func npzBytes(files map[string][]byte) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{"x.npy", "y.npy", "client.npy"} {
		if content, ok := files[name]; ok {
			file, err := w.Create(name)
			if err == nil {
				_, err = file.Write(content)
			}
			if err != nil {
				panic(err)
			}
		}
	}
	_ = w.Close()
	return out.Bytes()
}

// smallNPZ are arrays of three rows of two features.
func smallNPZ() map[string][]byte {
	return map[string][]byte{
		"x.npy":      npyBytes(1, "<f8", "3, 2", false, []float64{0.1, 2, 3, 4, 5, -6}),
		"y.npy":      npyBytes(2, "|b1", "3,", false, []bool{true, false, true}),
		"client.npy": npyBytes(3, ">i4", "3, 1", false, []int32{10, 9, 10}),
	}
}

func TestReadNPZ(t *testing.T) {
	folder := filetest.Folder(t, smallNPZ())
	file := filetest.New(t, "set.npz", npzBytes(smallNPZ()))
	for _, path := range []string{folder, file} {
		set := expect.Value(readNPZ(Defaults(), path))(t)
		checkShape(t, set)
		nine, ten := &set.Clients[0], &set.Clients[1]
		if diff := cmp.Diff([][]float64{{3, 4}, {0.1, 2}, {5, -6}, {0}, {1, 1}},
			[][]float64{nine.X.Row(0), ten.X.Row(0), ten.X.Row(1), nine.Y, ten.Y}); diff != "" || set.Name != "set" ||
			nine.Name != "9" || ten.Name != "10" {
			t.Errorf("%s %+v", diff, set)
		}
	}
	set, err := readNPZ(Config{Arrays: ArraysConfig{Clients: "y", Targets: "client"}}, folder)
	expect.That(t, err == nil && set.Clients[1].Name == "1" && set.Clients[1].Y[0] == 10, "%+v, %v", set, err)
	expect.NoError(t, os.Remove(filepath.Join(folder, "client.npy")))
	if set, err := readNPZ(Defaults(), folder); err != nil || len(set.Clients) != 1 || set.Clients[0].Name != "all" {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestReadNPZTypes(t *testing.T) {
	for descr, values := range map[string]any{
		"|i1": []int8{-1, 2, 3, 4}, "|u1": []uint8{255, 2, 3, 4}, "<i2": []int16{-1, 2, 3, 4},
		">u2": []uint16{65535, 2, 3, 4}, "<i4": []int32{-1, 2, 3, 4}, "<u4": []uint32{1 << 31, 2, 3, 4},
		">i8": []int64{-1, 2, 3, 4}, "<u8": []uint64{1 << 63, 2, 3, 4}, "<f4": []float32{-0.5, 2, 3, 4},
		">f8": []float64{0.1, 2, 3, 4},
	} {
		first := map[string]float64{"|u1": 255, ">u2": 65535, "<u4": 1 << 31, "<u8": 1 << 63, "<f4": -0.5,
			">f8": 0.1}[descr]
		if first == 0 {
			first = -1
		}
		for _, fortran := range []bool{false, true} {
			files := map[string][]byte{"x.npy": npyBytes(1, descr, "2, 2", fortran, values),
				"y.npy": npyBytes(1, "<f8", "2,", false, []float64{1, 2})}
			set := expect.Value(readNPZ(Defaults(), filetest.Folder(t, files)))(t)
			want := [][]float64{{first, 2}, {3, 4}}
			if fortran {
				want = [][]float64{{first, 3}, {2, 4}}
			}
			x := &set.Clients[0].X
			diff := cmp.Diff(want, [][]float64{x.Row(0), x.Row(1)})
			expect.That(t, diff == "", "%s: %s", descr, diff)
		}
	}
}

// The file of testdata/scipy/make.py has texts as labels and clients (its array task), and an array of objects
// that is not read.
func TestReadNPZOfNumPy(t *testing.T) {
	path := filetest.New(t, "arrays.npz", filetest.Base64(t, "testdata/scipy/arrays.npz.b64"))
	cfg := Defaults()
	cfg.Arrays.Clients = "task"
	set, err := readNPZ(cfg, path)
	expect.NoError(t, err)
	diff := cmp.Diff([]string{"b", "é"}, set.Classes)
	expect.That(t, diff == "", "%v", diff)
	for k, name := range []string{"two", "ten", "one"} {
		task := &set.Clients[k]
		if task.Name != name || task.X.Rows != k+2 ||
			!cmp.Equal(task.X.Row(1), []float64{float64(20*k+5) / 8, -float64(20*k+6) / 8, float64(20*k+7) / 8}) ||
			task.Y[1] != 1 {
			t.Errorf("%+v", task)
		}
	}
	_, err = readNPZ(Config{Arrays: ArraysConfig{Clients: "z"}}, path)
	if want :=
		"arrays.npz/z.npy: has elements of type O0: must be numbers (b1, i1 to i8, u1 to u8, f4, f8) or"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestReadNPZErrors(t *testing.T) {
	x := func(descr, shape string, values any) []byte { return npyBytes(1, descr, shape, false, values) }
	for _, c := range []struct {
		file    string
		content []byte // nil: removed
		want    string
	}{
		{"x.npy", nil, "set/x.npy: the file is missing (data.arrays names arrays); there are: client.npy, y.npy"},
		{"x.npy", []byte{}, "x.npy: cannot be read: is truncated"},
		{"x.npy", []byte("PK 12345678"), "x.npy: cannot be read: not an array of NumPy (format 1 to 3)"},
		{"x.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
			"x.npy: cannot be read: the header has more than 65536 bytes"},
		{"x.npy", x("<f2", "3, 2", make([]byte, 12)), "x.npy: has elements of type f2: must be numbers"},
		{"x.npy", x("<c8", "3, 2", make([]byte, 48)), "x.npy: has elements of type c8: must be numbers"},
		{"x.npy", x("<U1", "3, 2", make([]byte, 24)), "x.npy: has texts: features must be numbers"},
		{"x.npy", x("<f8", "3, 0", []byte{}), "x.npy: has no rows of features"},
		{"x.npy", x("<f8", "", []float64{1}), "x.npy: has no rows of features"},
		{"x.npy", x("<f8", "3, 2000", make([]float64, 6)), "x.npy: is truncated: must have 48073 bytes by its head"},
		{"x.npy", x("<f8", "999999999, 999999999", []byte{}),
			"x.npy: has too many values: must have at most 1073741824"},
		{"x.npy", x("<f8", "3, 2", make([]float64, 7)), "x.npy: has more bytes than its head says"},
		{"x.npy", x("<f8", "3, 2", []float64{1, 2, 3, math.NaN(), 5, 6}),
			"x.npy: element 3: NaN is not a finite number"},
		{"x.npy", npyBytes(1, "<f8", "3, 2, 1", true, make([]float64, 6)),
			"x.npy: is in Fortran order with more than two sizes: save numpy.ascontiguousarray(...) of it"},
		{"y.npy", x("<f8", "2", make([]float64, 2)),
			"y.npy: has the shape [2]: must have one value for each of the 3 rows of features"},
		{"y.npy", x("<U2", "3", []uint32{'a', 0, 0, 0, 'b', 0}), "y.npy: row 2: has no label"},
		{"y.npy", x("<U1", "3", []uint32{'a', 0xd800, 'b'}), `y.npy: element 1: "\\Ud800" is not a text`},
		{"client.npy", x("<U1", "3", []uint32{'a', 0, 'b'}), "client.npy: the client's name is empty"},
		{"client.npy", x("<i8", "3", []int64{1, 1<<53 + 1, 1 << 53}),
			"client.npy: row 2: the client 9007199254740992 must be below 2^53 in size"},
		{"x.npy", x("<f8", "65536, 65536", []byte{}), "x.npy: has too many values"},
		{exportFile, []byte("{}"), "data.json: must have train_rows, client_names, task_of_client and features"},
		{exportFile, []byte("[]"), "data.json: is not what fedsim data export writes: "},
		{exportFile,
			[]byte(
				`{"features": 2, "train_rows": [-1], "test_rows": [0], "client_names": ["a"], "task_of_client": [0]}`),
			"data.json: has -1 rows of a client"},
	} {
		files := smallNPZ()
		if files[c.file] = c.content; c.content == nil {
			delete(files, c.file)
		}
		_, err := readNPZ(Defaults(), filetest.Folder(t, files))
		_, ok := errors.AsType[*ParseError](err)
		expect.That(t, ok && strings.Contains(err.Error(), c.want), "%s: %v, want %s", c.file, err, c.want)
	}
	path := filetest.New(t, "x.npz", "no zip")
	if _, err := readNPZ(Defaults(), path); err == nil ||
		!strings.Contains(err.Error(), "x.npz: not a complete npz file") {
		t.Error(err)
	}
}

// What Export writes is read with the same bits, test rows and names of classes.
func TestReadExport(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"classes": func(*Config) {},
		"real":    func(c *Config) { c.Target = TargetReal },
		"single":  func(c *Config) { c.Precision = PrecisionSingle },
		"no test": func(c *Config) { c.TestFraction = 0 },
		"pooled":  func(c *Config) { c.Pool = true },
		"csv": func(c *Config) {
			c.Source, c.Target = SourceCSV, TargetClasses
			c.Path =
				filepath.Join(
					filetest.Folder(t,
						map[string][]byte{"a.csv": []byte("client,label,x\n1,cat,1\n1,cat,2\n2,dog,3\n2,bat,4\n")}),
					"a.csv")
		},
	} {
		cfg := Defaults()
		cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 3, 4, 6, 9
		change(&cfg)
		split := prepared(t, cfg)
		folder := t.TempDir()
		expect.NoError(t, Export(split, func(name string, fill func(io.Writer) error) error {
			file, err := os.Create(filepath.Join(folder, name))
			return errors.Join(err, fill(file), file.Close())
		}))
		back := Defaults()
		back.Source, back.Path, back.Target, back.Precision, back.Pool, back.TestFraction = SourceNPZ, folder,
			cfg.Target, cfg.Precision, cfg.Pool, cfg.TestFraction
		read := prepared(t, back)
		if read.Digest() != split.Digest() ||
			!cmp.Equal(read.Train.Labels(), split.Train.Labels()) && cfg.Source == SourceCSV ||
			read.Train.Clients[1].Name != split.Train.Clients[1].Name {
			t.Errorf("%s: the rows differ", name)
		}
	}
}

// FuzzNPZ changes arrays, and the npz file that has them.
func FuzzNPZ(f *testing.F) {
	small := smallNPZ()
	f.Add(small["x.npy"], small["y.npy"], small["client.npy"], npzBytes(small))
	f.Add(npyBytes(1, ">f4", "2, 1", true, []float32{1, 2}), npyBytes(1, "<U1", "2,", false, []uint32{'a', 'b'}),
		[]byte{}, filetest.Base64(f, "testdata/scipy/arrays.npz.b64"))
	f.Fuzz(func(t *testing.T, x, y, task, file []byte) {
		folder := filetest.Folder(t, map[string][]byte{"x.npy": x, "y.npy": y, "client.npy": task, "set.npz": file})
		for _, path := range []string{folder, filepath.Join(folder, "set.npz")} {
			set, err := readNPZ(Defaults(), path)
			if !refused(t, err) {
				checkShape(t, set)
			}
		}
	})
}
