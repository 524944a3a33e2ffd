package formats

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/data"
	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// readIDX reads images and labels in the IDX format of MNIST (LeCun, Cortes and Burges), all
// in one task. path is a folder with one file of training images and, if there are any, one
// of test images ("t10k" or "test" in its name), whose rows are the set's own test rows; or
// a file of images. A file of images has "images" in its name, that of its labels has
// "labels" instead and is in the same folder: train-images-idx3-ubyte and
// train-labels-idx1-ubyte. Files may be packed by gzip.
//
// All types of numbers are read. Features that are unsigned bytes are divided by 255. All
// sizes but the first make one row of features. Labels are numbers. An error in a file is a
// *ParseError.
func readIDX(_ data.Config, path string) (*data.Set, error) {
	files, err := findIDX(path)
	if err != nil {
		return nil, err
	}
	task, rows := data.Client{Name: "all"}, 0
	var halves [2]*idxHalf // training and test images; there may be no test images
	for h, file := range files {
		if file == "" {
			continue
		}
		half, err := openIDXHalf(file)
		if err != nil {
			return nil, err
		}
		defer half.close()
		halves[h] = half
		rows += half.images.shape[0]
		if train := halves[0].images; half.images.columns() != train.columns() {
			return nil, half.images.Fail("has rows of %d features, %s has %d", half.images.columns(), train.Name,
				train.columns())
		}
	}
	train := halves[0].images
	if _, ok := elements.SizeOf([]int{rows, train.columns()}); !ok {
		return nil, train.Fail("has too many values: must have at most %d", elements.Most)
	}
	task.Held = rows - train.shape[0]
	from := &stacked{first: train.shape[0]}
	task.Defer(from, rows, train.columns())
	for h, half := range halves {
		if half == nil {
			continue
		}
		if from.parts[h], err = half.read(); err != nil {
			return nil, err
		}
		y, err := half.readLabels()
		if err != nil {
			return nil, err
		}
		task.Y = append(task.Y, y...)
	}
	return &data.Set{Features: train.columns(), Clients: []data.Client{task}}, nil
}

// idxHalf is an open file of images with that of their labels.
type idxHalf struct{ images, labels *idxFile }

// openIDXHalf opens a file of images and that of their labels.
func openIDXHalf(file string) (h *idxHalf, err error) {
	images, err := openIDX(file)
	if err != nil {
		return nil, err
	}
	h = &idxHalf{images: images}
	name, err := idxLabels(file)
	if err == nil {
		h.labels, err = openIDX(name)
	}
	if err == nil {
		err = h.labels.match(images)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// close closes the files that are open.
func (h *idxHalf) close() {
	for _, f := range []*idxFile{h.images, h.labels} {
		if f != nil {
			f.Close()
		}
	}
}

// stacked are the rows of one reader, and after them those of another.
type stacked struct {
	parts [2]data.RowReader
	first int // rows of the first
}

// Values returns a row for reading.
func (s *stacked) Values(row int, space []float64) []float64 {
	if row < s.first {
		return s.parts[0].Values(row, space)
	}
	return s.parts[1].Values(row-s.first, space)
}

// pixels are rows of unsigned bytes, divided by 255.
type pixels struct {
	bytes  []byte
	cols   int
	values [256]float64 // by byte
}

// newPixels returns rows of zeros.
func newPixels(rows, cols int) *pixels {
	p := &pixels{bytes: make([]byte, rows*cols), cols: cols}
	for b := range p.values {
		p.values[b] = float64(b) / 255
	}
	return p
}

// Values writes a row to space.
func (p *pixels) Values(row int, space []float64) []float64 {
	space = space[:p.cols]
	for j, b := range p.bytes[row*p.cols : (row+1)*p.cols] {
		space[j] = p.values[b]
	}
	return space
}

// read reads the images.
func (h *idxHalf) read() (data.RowReader, error) {
	rows, cols := h.images.shape[0], h.images.columns()
	if h.images.Numbers.Kind == 'u' {
		p := newPixels(rows, cols)
		return p, h.images.Read(func(_ elements.Type, in io.Reader) error {
			_, err := io.ReadFull(in, p.bytes)
			return err
		})
	}
	x := data.NewMatrix(rows, cols)
	return &x, h.images.Read(func(e elements.Type, in io.Reader) error { return e.Rows(in, x.Rows, x.Cols, x.Row) })
}

func (h *idxHalf) readLabels() (y []float64, err error) {
	err = h.labels.Read(func(e elements.Type, in io.Reader) (err error) {
		y, err = e.Vector(in, h.labels.shape[0])
		return err
	})
	return y, err
}

// findIDX returns the files of training and test images. There may be no test images.
func findIDX(path string) (halves [2]string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return halves, fmt.Errorf("read idx data: %w", err)
	}
	if !info.IsDir() {
		return [2]string{path, ""}, nil
	}
	names, err := idxNames(path, func(name string) bool {
		return strings.Contains(name, "images") && strings.Contains(name, "idx")
	})
	if err != nil {
		return halves, err
	}
	for _, name := range names {
		half := 0
		if strings.Contains(name, "t10k") || strings.Contains(name, "test") {
			half = 1
		}
		if halves[half] != "" {
			return halves, inFile(path, "has several files of images (%s): data.path must name one of them",
				strings.Join(names, ", "))
		}
		halves[half] = filepath.Join(path, name)
	}
	if halves[0] == "" {
		return halves, inFile(path, "has no file of training images, such as train-images-idx3-ubyte.gz")
	}
	return halves, nil
}

// idxNames returns the names of files in a folder. It prefers a file to the same packed one.
func idxNames(folder string, wanted func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read idx data: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); !entry.IsDir() && wanted(name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		plain, packed := strings.CutSuffix(name, ".gz")
		return packed && slices.Contains(names, plain)
	}), nil
}

// idxLabels returns the file of the labels of a file of images.
func idxLabels(images string) (string, error) {
	folder, name := filepath.Split(images)
	before, _, found := strings.Cut(name, "images")
	if !found {
		return "", inFile(images,
			`the file's name must contain "images"; its labels are in a file with "labels" instead`)
	}
	if folder == "" {
		folder = "."
	}
	names, err := idxNames(folder, func(name string) bool { return strings.HasPrefix(name, before+"labels") })
	if err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "", inFile(images, "must have one file of labels beside it: %d have names that begin with %s",
			len(names), quote.Text(before+"labels"))
	}
	return filepath.Join(folder, names[0]), nil
}

// idxFile is an open file whose head has been read.
type idxFile struct {
	elements.File
	shape []int
}

// idxTypes are the types of numbers by the third byte of a file.
var idxTypes = map[byte]elements.Type{
	0x08: {Kind: 'u', Size: 1, Order: binary.BigEndian}, 0x09: {Kind: 'i', Size: 1, Order: binary.BigEndian},
	0x0b: {Kind: 'i', Size: 2, Order: binary.BigEndian}, 0x0c: {Kind: 'i', Size: 4, Order: binary.BigEndian},
	0x0d: {Kind: 'f', Size: 4, Order: binary.BigEndian}, 0x0e: {Kind: 'f', Size: 8, Order: binary.BigEndian},
}

// openIDX opens a file and reads its head. It checks the sizes against that of the file.
func openIDX(name string) (*idxFile, error) {
	file, err := input.Open(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read idx data: %w", err)
	}
	f :=
		&idxFile{
			File: elements.File{Name: name, Closer: file, Made: "download",
				Wrong: func(problem string, err error) error {
					return &data.ParseError{File: name, Problem: problem, Err: err}
				}}}
	if err := f.readHead(file); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *idxFile) readHead(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read idx data: %w", err)
	}
	most, exact := info.Size(), true
	f.In = bufio.NewReaderSize(file, 1<<16)
	if magic, _ := f.In.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(f.In)
		if err != nil {
			return f.Wrong("cannot be unpacked: the download may be corrupt", err)
		}
		f.In = bufio.NewReaderSize(unpacked, 1<<16)
		most, exact = min(most, maxFile)*input.MaxDeflate, false
	}
	var magic [4]byte
	if _, err := io.ReadFull(f.In, magic[:]); err != nil {
		return f.Unreadable(err)
	}
	known := false
	if f.Numbers, known = idxTypes[magic[2]]; !known || magic[0] != 0 || magic[1] != 0 || magic[3] == 0 {
		return f.Fail("not an IDX file: must begin with two zeros, the type of its numbers (8, " +
			"9 or 11 to 14) and the number of its sizes")
	}
	sizes := make([]uint32, magic[3])
	if err := binary.Read(f.In, binary.BigEndian, sizes); err != nil {
		return f.Unreadable(err)
	}
	for _, n := range sizes {
		f.shape = append(f.shape, int(n))
	}
	count, ok := elements.SizeOf(f.shape)
	f.Head = 4 + 4*int64(len(f.shape))
	length := f.Head + int64(count)*int64(f.Numbers.Size)
	switch {
	case !ok:
		return f.Fail("byte 4: has too many values: must have at most %d", elements.Most)
	case count == 0:
		return f.Fail("byte 4: has no values: all sizes must be positive")
	case exact && length != most || length > most:
		return f.Fail("has %d bytes, must have %d by the sizes in its head", info.Size(), length)
	}
	return nil
}

// columns returns the number of features of a row.
func (f *idxFile) columns() int {
	n, _ := elements.SizeOf(f.shape[1:])
	return n
}

// match checks a file of labels against that of the images.
func (f *idxFile) match(images *idxFile) error {
	if len(f.shape) != 1 {
		return f.Fail("must have labels with one size, it has %d sizes", len(f.shape))
	}
	if f.shape[0] != images.shape[0] {
		return f.Fail("has %d labels for the %d rows of %s", f.shape[0], images.shape[0], images.Name)
	}
	return nil
}
