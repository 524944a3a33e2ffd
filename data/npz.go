package data

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/npy"
	"fedsim/internal/tools/quote"
)

// readNPZ reads arrays of NumPy, from an npz file or a folder of npy files: features of each
// row, targets, and the task of each row. A folder that fedsim data export wrote has clients
// and test rows instead. An error in a file is a *ParseError.
func readNPZ(cfg Config, path string) (*Set, error) {
	folder, closer, err := OpenFolder(path, "npz", "not a complete npz file, which is a zip of npy files")
	if err != nil {
		return nil, err
	}
	set, err := folder.readArrays(&cfg)
	if input.CloseAfter(closer, &err); err != nil {
		return nil, err
	}
	set.Name = nameOf(path)
	return set, nil
}

func (f *Folder) readArrays(cfg *Config) (*Set, error) {
	if _, err := fs.Stat(f.Files, exportFile); err == nil {
		return f.readExport(cfg)
	}
	names := cfg.Arrays.Over("x", "y", "client")
	x, err := f.features(names.Features + ".npy")
	if err != nil {
		return nil, err
	}
	set := &Set{Features: x.Cols}
	all := Client{Name: allTasks, X: x}
	y, texts, err := f.column(names.Targets+".npy", x.Rows)
	if err != nil {
		return nil, err
	}
	all.Y = y
	labels := cfg.NewLabels()
	if texts != nil {
		if all.Y, err = f.classes(labels, names.Targets+".npy", texts); err != nil {
			return nil, err
		}
	}
	_, err = fs.Stat(f.Files, names.Clients+".npy")
	if errors.Is(err, fs.ErrNotExist) && cfg.Arrays.Clients == "" {
		set.Clients = []Client{all}
	} else {
		numbers, tasks, err := f.column(names.Clients+".npy", x.Rows)
		if err != nil {
			return nil, err
		}
		if tasks == nil {
			problem := ""
			if tasks, problem = ClientNames(numbers); problem != "" {
				return nil, &ParseError{File: f.Path(names.Clients + ".npy"), Problem: problem}
			}
		}
		set.ByClient(all, tasks)
	}
	for t := range set.Clients {
		if problem := input.RefuseClient(set.Clients[t].Name); problem != "" {
			return nil, &ParseError{File: f.Path(names.Clients + ".npy"), Problem: "the client's name " + problem}
		}
	}
	if texts != nil {
		labels.Finish(set)
	}
	return set, nil
}

// classes returns the classes of labels that are texts, in order of appearance.
func (f *Folder) classes(labels *Labels, name string, texts []string) ([]float64, error) {
	y := make([]float64, len(texts))
	for i, text := range texts {
		var problem string
		y[i], problem = labels.text(strings.TrimSpace(text))
		if problem == "" && y[i] != y[i] {
			problem = "has no label"
		}
		if problem != "" {
			return nil, inFile(f.Path(name), "row %d: %s", i+1, problem)
		}
	}
	return y, nil
}

// npyFile is an open array.
type npyFile struct {
	npy.Header
	elements.File
	count int
}

// array opens an array, and checks its size against that of its file.
func (f *Folder) array(name string) (*npyFile, error) {
	bound, err := f.SizeBound(name)
	if missing, ok := errors.AsType[*ParseError](err); ok && errors.Is(err, fs.ErrNotExist) {
		if others, _ := fs.Glob(f.Files, "*.npy"); len(others) > 0 {
			missing.Problem += " (data.arrays names arrays); there are: " + listClasses(others)
		}
	}
	if err != nil {
		return nil, err
	}
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	a := &npyFile{File: elements.File{Name: f.Path(name), Closer: file, In: bufio.NewReaderSize(file, 1<<16),
		Made: "file", Wrong: wrongIn(f.Path(name))}}
	if err := a.readHead(bound); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// readHead reads the head of a file with at most some bytes.
func (nf *npyFile) readHead(bound int64) (err error) {
	if nf.Header, err = npy.Read(nf.In); err != nil {
		return nf.Wrong("cannot be read", err)
	}
	nf.Numbers = elements.Type{Kind: nf.Kind, Size: nf.Size, Order: binary.LittleEndian}
	if nf.Big {
		nf.Numbers.Order = binary.BigEndian
	}
	switch size := nf.Size; nf.Kind {
	case 'b':
		nf.Numbers.Size, nf.Size = 1, 1
	case 'i', 'u':
		if size != 1 && size != 2 && size != 4 && size != 8 {
			return nf.wrongType()
		}
	case 'f':
		if size != 4 && size != 8 {
			return nf.wrongType()
		}
	case 'U':
	default:
		return nf.wrongType()
	}
	ok := false
	if nf.count, ok = elements.SizeOf(nf.Shape); !ok {
		return nf.Fail("has too many values: must have at most %d", elements.Most)
	}
	if length := int64(nf.Bytes) + int64(nf.count)*int64(nf.Size); length > bound {
		return nf.Fail("is truncated: must have %d bytes by its head", length)
	}
	return nil
}

func (nf *npyFile) wrongType() error {
	return nf.Fail("has elements of type %s%d: must be numbers (b1, i1 to i8, u1 to u8, f4, f8) or, "+
		"for labels and clients, texts (U); convert it with astype", string(rune(nf.Kind)), nf.Size)
}

// features reads an array as the features of rows: all sizes but the first make a row.
func (f *Folder) features(name string) (x Matrix, err error) {
	a, err := f.array(name)
	if err != nil {
		return x, err
	}
	defer a.Close()
	switch {
	case a.Kind == 'U':
		return x, a.Fail("has texts: features must be numbers")
	case len(a.Shape) == 0 || a.count == 0:
		return x, a.Fail("has no rows of features")
	case a.Fortran && len(a.Shape) > 2:
		return x, a.Fail("is in Fortran order with more than two sizes: save numpy.ascontiguousarray(...) of it")
	}
	columns := a.count / a.Shape[0]
	if _, ok := elements.SizeOf([]int{a.Shape[0], padded(columns, Lane)}); !ok {
		return x, a.Fail("has too many values: must have at most %d", elements.Most)
	}
	x = NewMatrix(a.Shape[0], columns)
	return x, a.Read(func(e elements.Type, in io.Reader) error {
		if a.Fortran {
			return e.Columns(in, x.Rows, x.Cols, x.Row)
		}
		return e.Rows(in, x.Rows, x.Cols, x.Row)
	})
}

// column reads an array with a number or a text for each row.
func (f *Folder) column(name string, rows int) (numbers []float64, texts []string, err error) {
	a, err := f.array(name)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	if a.count != rows || len(a.Shape) == 0 || a.Shape[0] != rows {
		return nil, nil, a.Fail("has the shape %v: must have one value for each of the %d rows of features", a.Shape,
			rows)
	}
	err = a.Read(func(e elements.Type, in io.Reader) error {
		if a.Kind == 'U' {
			texts, err = a.texts(in)
		} else {
			numbers, err = e.Vector(in, a.count)
		}
		return err
	})
	return numbers, texts, err
}

// texts reads texts, of four bytes a character and zeros behind them.
func (nf *npyFile) texts(in io.Reader) ([]string, error) {
	list := make([]string, nf.count)
	buffer := make([]byte, nf.Size)
	for i := range list {
		if _, err := io.ReadFull(in, buffer); err != nil {
			return nil, err
		}
		var text strings.Builder
		for b := buffer; len(b) > 0; b = b[4:] {
			c := nf.Numbers.Order.Uint32(b)
			if c == 0 {
				break
			}
			if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
				text.WriteString("\\U" + strconv.FormatUint(uint64(c), 16))
				return nil, &elements.Bad{At: int64(i), Problem: quote.Text(text.String()) + " is not a text"}
			}
			text.WriteRune(rune(c))
		}
		list[i] = text.String()
	}
	return list, nil
}
