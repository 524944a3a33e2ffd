package formats

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
)

// idxBytes returns a file of the type and sizes with numbers of Go's type for it.
func idxBytes(kind byte, shape []int, values any) []byte {
	b := []byte{0, 0, kind, byte(len(shape))}
	for _, n := range shape {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	b, err := binary.Append(b, binary.BigEndian, values)
	if err != nil {
		panic(err)
	}
	return b
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// smallIDX are four files of 2 x 2 images.
func smallIDX() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte.gz": packed(
			idxBytes(8, []int{3, 2, 2}, []byte{0, 255, 51, 1, 2, 3, 4, 5, 6, 7, 8, 9})),
		"train-labels-idx1-ubyte.gz": packed(idxBytes(8, []int{3}, []byte{7, 2, 7})),
		"t10k-images.idx3-ubyte":     idxBytes(8, []int{1, 2, 2}, []byte{255, 0, 0, 0}),
		"t10k-labels.idx1-ubyte":     idxBytes(8, []int{1}, []byte{2}),
	}
}

func TestReadIDX(t *testing.T) {
	folder := filetest.Folder(t, smallIDX())
	set, err := gathered(readIDX(data.Config{}, folder))
	expect.NoError(t, err)
	checkShape(t, set)
	task := &set.Clients[0]
	expect.Must(t, set.Features == 4 && len(set.Clients) == 1 && task.Held == 1, "%+v", set)
	if diff := cmp.Diff([]float64{0, 1, 0.2, 1.0 / 255}, task.X.Row(0)) + cmp.Diff([]float64{7, 2, 7, 2}, task.Y) +
		cmp.Diff([]float64{1, 0, 0, 0}, task.X.Row(3)); diff != "" {
		t.Error(diff)
	}
	alone, err := gathered(readIDX(data.Config{}, filepath.Join(folder, "t10k-images.idx3-ubyte")))
	expect.That(t, err == nil && alone.Rows() == 1 && !held(alone) && alone.Clients[0].Y[0] == 2, "%+v, %v", alone, err)
}

// The other types of numbers are not scaled.
func TestReadIDXTypes(t *testing.T) {
	for _, c := range []struct {
		kind   byte
		values any
		want   []float64
	}{
		{9, []int8{-128, 127, 0, 1}, []float64{-128, 127, 0, 1}},
		{11, []int16{-32768, 32767, 0, 1}, []float64{-32768, 32767, 0, 1}},
		{12, []int32{math.MinInt32, math.MaxInt32, 0, 1}, []float64{math.MinInt32, math.MaxInt32, 0, 1}},
		{13, []float32{0.1, -3, 0, 1}, []float64{float64(float32(0.1)), -3, 0, 1}},
		{14, []float64{0.1, -3, 0, 1e100}, []float64{0.1, -3, 0, 1e100}},
	} {
		folder := filetest.Folder(t, map[string][]byte{
			"images-idx2":      idxBytes(c.kind, []int{2, 2}, c.values),
			"labels-idx1.gz":   packed(idxBytes(14, []int{2}, []float64{-0.5, 1.5})),
			"unrelated-images": nil,
		})
		set := expect.Value(gathered(readIDX(data.Config{}, folder)))(t)
		task := &set.Clients[0]
		if diff := cmp.Diff(c.want, append(task.X.Row(0)[:2:2], task.X.Row(1)...)) +
			cmp.Diff([]float64{-0.5, 1.5}, task.Y); diff != "" {
			t.Errorf("type %d: %s", c.kind, diff)
		}
	}
}

func TestReadIDXErrors(t *testing.T) {
	racetest.Skip(t, "compares errors of readers; shorter tests read in parallel")
	const images, labels = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
	float := func(v float64) []byte {
		return packed(idxBytes(14, []int{3, 4}, []float64{0, 0, 0, 0, v, 0, 0, 0, 0, 0, 0, 0}))
	}
	for _, c := range []struct {
		file    string
		content []byte // nil: removed
		want    string
	}{
		{images, nil, "set: has no file of training images, such as train-images-idx3-ubyte.gz"},
		{labels, nil, `train-images-idx3-ubyte.gz: must have one file of labels beside it: ` +
			`0 have names that begin with "train-labels"`},
		{"b-images.idx3", []byte{}, "set: has several files of images (b-images.idx3, t10k-images.idx3-ubyte, " +
			"train-images-idx3-ubyte.gz): data.path must name one of them"},
		{images, []byte("\x1f\x8b\x08"),
			"train-images-idx3-ubyte.gz: cannot be unpacked: the download may be corrupt: unexpected EOF"},
		{images, packed(nil), images + ": is truncated"},
		{images, packed([]byte{0, 0, 10, 1, 0, 0, 0, 1, 5}), images + ": not an IDX file: must begin with two zeros"},
		{images, packed(idxBytes(8, []int{3, 0}, []byte{})), images + ": byte 4: has no values"},
		{images, packed(idxBytes(8, []int{math.MaxInt32, math.MaxInt32}, []byte{})),
			images + ": byte 4: has too many values"},
		{images, packed(idxBytes(8, []int{3, 1 << 28}, []byte{1})), "must have 805306380 by the sizes in its head"},
		{images, packed(idxBytes(8, []int{3, 4}, []byte{1, 2, 3})), images + ": is truncated"},
		{images, packed(idxBytes(8, []int{3, 4}, make([]byte, 13))), images + ": has more bytes"},
		{images, float(math.NaN()), images + ": byte 44: NaN is not a finite number"},
		{images, float(2e100), images + ": byte 44: 2e+100 is too large"},
		{images, packed(idxBytes(8, []int{2, 4}, make([]byte, 8))), labels + ": has 3 labels for the 2 rows of"},
		{labels, packed(idxBytes(8, []int{3, 1}, make([]byte, 3))),
			labels + ": must have labels with one size, it has 2 sizes"},
		{"t10k-images.idx3-ubyte", idxBytes(8, []int{1, 3}, make([]byte, 3)),
			"t10k-images.idx3-ubyte: has rows of 3 features, "},
		{"t10k-labels.idx1-ubyte", idxBytes(8, []int{1}, make([]byte, 3)),
			"t10k-labels.idx1-ubyte: has 11 bytes, must have 9 by the sizes in its head"},
	} {
		files := smallIDX()
		if files[c.file] = c.content; c.content == nil {
			delete(files, c.file)
		}
		_, err := gathered(readIDX(data.Config{}, filetest.Folder(t, files)))
		_, ok := errors.AsType[*data.ParseError](err)
		expect.That(t, ok && strings.Contains(err.Error(), c.want), "%s: %v, want %s", c.file, err, c.want)
	}
}

// The set's own test rows are kept, unless others are wanted.
func TestOwnTestRows(t *testing.T) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path = data.SourceIDX, filetest.Folder(t, smallIDX())
	split := prepared(t, cfg)
	expect.That(t, split.Train.Name == "set", "the set is named %q, not after its folder", split.Train.Name)
	train, test := &split.Train.Clients[0], &split.Test.Clients[0]
	if diff := cmp.Diff([]float64{1, -1, 1}, train.Y) + cmp.Diff([]float64{-1}, test.Y); diff != "" ||
		train.Held != 0 || test.X.Row(0)[0] != 1 {
		t.Errorf("%s, %+v %+v", diff, train, test)
	}
	cfg.TestFraction = 0.5
	const want = `data.test_fraction = 0.5: has no effect: set has test rows of its own; remove the key, ` +
		`or set data.test_rows = "random" to hold out others`
	if _, err := data.Prepare(cfg); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	cfg.TestRows = data.TestRowsRandom
	if split, err := data.Prepare(cfg); err != nil || split.Train.Rows() != 2 || split.Test.Rows() != 2 {
		t.Errorf("%+v, %v", split, err)
	}
}

// The counts and sums are those of NumPy: the pixels of both files as integers, and the
// errors of the nearest mean of a class (784 pixels / 255, Euclidean distance) on the first
// 1000 of t10k.
func TestRealMNIST(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 70,000 images")
	}
	set :=
		expect.Value(
			gathered(readIDX(data.Config{}, filepath.Dir(filetest.Real(t, "mnist/train-images-idx3-ubyte.gz")))))(t)
	task := &set.Clients[0]
	expect.Must(t, task.X.Rows == 70000 && task.X.Cols == 784 && task.Held == 10000,
		"%d x %d, %d test rows", task.X.Rows, task.X.Cols, task.Held)
	sum := func(from, to int) (total int) {
		for i := from; i < to; i++ {
			for _, v := range task.X.Row(i) {
				total += int(math.Round(v * 255))
			}
		}
		return total
	}
	train, test := sum(0, 60000), sum(60000, 70000)
	expect.That(t, train == 1567298545 && test == 264923200, "sums of pixels %d and %d", train, test)
	var means [10][784]float64
	var counts [10]float64
	for i := range 60000 {
		c := int(task.Y[i])
		counts[c]++
		for j, v := range task.X.Row(i) {
			means[c][j] += v
		}
	}
	wrong := 0
	for i := 60000; i < 61000; i++ {
		nearest, least := 0, math.Inf(1)
		for c := range means {
			distance := 0.0
			for j, v := range task.X.Row(i) {
				d := v - means[c][j]/counts[c]
				distance += float64(d * d)
			}
			if distance < least {
				nearest, least = c, distance
			}
		}
		if nearest != int(task.Y[i]) {
			wrong++
		}
	}
	expect.That(t, wrong == 210, "%d errors of the nearest mean", wrong)
}

// FuzzIDX changes a file of images, or that of its labels.
func FuzzIDX(f *testing.F) {
	for _, kind := range []byte{8, 9} {
		f.Add(idxBytes(kind, []int{2, 1, 2}, []byte{1, 2, 3, 4}), idxBytes(kind, []int{2}, []byte{1, 2}))
	}
	f.Add(packed(idxBytes(14, []int{2, 1}, []float64{1, 2})), packed(idxBytes(11, []int{2}, []int16{1, 2})))
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		set, err :=
			gathered(
				readIDX(data.Config{},
					filepath.Join(filetest.Folder(t, map[string][]byte{"images": images, "labels": labels}), "images")))
		if !refused(t, err) {
			checkShape(t, set)
		}
	})
}
