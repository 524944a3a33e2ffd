package formats

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"fedsim/data"
	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// readMATLAB reads the variables of a set from a MATLAB 5 file, the format of save -v6 and
// -v7. Features and targets are cells with a matrix and a vector for each task, as in the
// file of the School data; or a matrix and a vector with the rows of all tasks. Features
// have a row for each target. All real types of numbers are read, with their values. An
// error in the file is a *ParseError.
func readMATLAB(cfg data.Config, path string) (*data.Set, error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read matlab data: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read matlab data: %w", err)
	}
	in := bufio.NewReaderSize(file, 1<<16)
	m := &matFile{matReader: matReader{file: path, in: in}, names: cfg.Arrays.Over("X", "Y", "")}
	if err := m.head(); err != nil {
		return nil, err
	}
	left := info.Size() - matHead
	for left > 0 {
		m.matPlace = matPlace{at: info.Size() - left}
		if err := m.element(&left, m.variable); err != nil {
			return nil, err
		}
	}
	return m.set()
}

// maxOthers limits the names that a message can have.
const maxOthers = 1 << 12

type matFile struct {
	matReader
	names    data.ArraysConfig
	features matVariable
	targets  matVariable
	tasks    matVariable
	others   []string // names of the other variables
}

// matVariable is a variable: a matrix, or one for each cell. Those of targets and tasks
// have one column without padding.
type matVariable struct {
	found, cells bool
	matrices     []data.Matrix
}

// set returns the set of the variables.
func (m *matFile) set() (*data.Set, error) {
	m.matPlace = matPlace{}
	if err := m.check(); err != nil {
		return nil, err
	}
	x, y := &m.features, &m.targets
	set := &data.Set{Features: x.matrices[0].Cols}
	for t := range x.matrices {
		m.matPlace = matPlace{name: m.names.Features}
		if x.cells {
			m.cell = t + 1
		}
		matrix := x.matrices[t]
		if matrix.Cols != set.Features {
			return nil, m.fail("is %d x %d, the first cell has %d columns", matrix.Rows, matrix.Cols, set.Features)
		}
		if problem := data.RequireRows(&matrix, y.matrices[t].Rows); problem != "" {
			return nil, m.fail("%s", problem)
		}
		task := data.Client{Name: fmt.Sprint(t + 1), X: matrix, Y: y.matrices[t].Data}
		switch {
		case x.cells:
			set.Clients = append(set.Clients, task)
		case m.tasks.found:
			names, problem := data.ClientNames(m.tasks.matrices[0].Data)
			if problem != "" {
				return nil, m.fail("%s, %s", quote.Text(m.names.Clients), problem)
			}
			if len(names) != matrix.Rows {
				return nil, m.fail("has %d rows, %s has %d", matrix.Rows, quote.Text(m.names.Clients), len(names))
			}
			set.ByClient(task, names)
		default:
			task.Name = "all"
			set.Clients = []data.Client{task}
		}
	}
	return set, nil
}

// check reports variables that are missing or do not go together.
func (m *matFile) check() error {
	for _, v := range []struct {
		*matVariable
		key, name string
	}{
		{&m.features, "features", m.names.Features},
		{&m.targets, "targets", m.names.Targets},
		{&m.tasks, "clients", m.names.Clients},
	} {
		if !v.found && v.name != "" {
			problem := fmt.Sprintf("has no variable %s (data.arrays.%s)", quote.Text(v.name), v.key)
			if len(m.others) > 0 {
				problem += ", it has others: " + quote.List(m.others, 12)
			}
			return m.fail("%s", problem)
		}
	}
	x, y := &m.features, &m.targets
	if x.cells != y.cells || len(x.matrices) != len(y.matrices) {
		return m.fail("%s has %s, %s has %s: must be cells of the same clients, or both matrices",
			quote.Text(m.names.Features), x.size(), quote.Text(m.names.Targets), y.size())
	}
	if x.cells && m.tasks.found || m.tasks.cells {
		return m.fail(
			"data.arrays.clients is for features in one matrix, with a number for each row; each cell is a client")
	}
	return nil
}

// size describes the variable.
func (v *matVariable) size() string {
	if v.cells {
		return fmt.Sprintf("%d cells", len(v.matrices))
	}
	return "a matrix"
}

// variable reads an element of the file, if it is one of the variables.
func (m *matFile) variable(tag matTag) error {
	switch tag.kind {
	case matMatrix:
		left := tag.size
		return m.array(&left)
	case matCompressed:
		return m.packed(tag)
	}
	return nil
}

// packed reads a packed variable.
func (m *matFile) packed(tag matTag) error {
	unpacked, err := zlib.NewReader(tag.in)
	if err != nil {
		return m.unreadable(err)
	}
	whole := m.in
	m.in = bufio.NewReader(unpacked)
	defer func() { m.in = whole }()
	left := tag.size * input.MaxDeflate
	err = m.element(&left, func(tag matTag) error {
		if tag.kind != matMatrix {
			return m.fail("is packed, but not an array")
		}
		left := tag.size
		return m.array(&left)
	})
	if err != nil {
		return err
	}
	switch n, err := io.ReadFull(m.in, make([]byte, 1)); { // also checks the sum
	case n > 0:
		return m.fail("has more bytes than the variable")
	case err != io.EOF:
		return m.unreadable(err)
	}
	return nil
}

// array reads an array if it is one of the variables.
func (m *matFile) array(left *int64) error {
	head, err := m.arrayHead(left)
	if err != nil {
		return err
	}
	m.name = head.name
	var v *matVariable
	column := true
	switch head.name {
	case m.names.Features:
		v, column = &m.features, false
	case m.names.Targets:
		v = &m.targets
	case m.names.Clients:
		v = &m.tasks
	}
	switch {
	case v == nil || head.name == "":
		if head.name != "" && len(m.others) < maxOthers {
			m.others = append(m.others, head.name)
		}
		return nil
	case v.found:
		return m.fail("the file has a second variable of the name")
	}
	v.found, v.cells = true, head.class == matCell
	if !v.cells {
		matrix, err := m.matrix(left, head, column)
		v.matrices = []data.Matrix{matrix}
		return err
	}
	if int64(head.count) > *left/8 || head.count == 0 {
		return m.fail("has %d cells: must have one for each client", head.count)
	}
	for range head.count {
		m.cell++
		err := m.element(left, func(tag matTag) error {
			if tag.kind != matMatrix {
				return m.corrupt()
			}
			left := tag.size
			head, err := m.arrayHead(&left)
			if err != nil {
				return err
			}
			matrix, err := m.matrix(&left, head, column)
			v.matrices = append(v.matrices, matrix)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// matrix reads the numbers of an array. If column is set it must have one row or one
// column, and becomes a column.
func (m *matFile) matrix(left *int64, head matArray, column bool) (matrix data.Matrix, err error) {
	if problem := head.refuse(); problem != "" {
		return matrix, m.fail("%s", problem)
	}
	rows, columns := head.shape[0], head.shape[1]
	if column {
		if rows != 1 && columns != 1 {
			return matrix, m.fail("is %d x %d: must be one number for each row of %s", rows, columns,
				quote.Text(m.names.Features))
		}
		rows, columns = head.count, 1
	}
	err = m.element(left, func(tag matTag) error {
		e, known := matNumbers[tag.kind]
		if e.Order = m.order; !known || tag.size != int64(head.count)*int64(e.Size) {
			return m.fail("has %d bytes of numbers of type %d for a size of %d x %d", tag.size, tag.kind,
				head.shape[0], head.shape[1])
		}
		if matrix = (data.Matrix{Rows: rows, Cols: columns, Stride: 1}); column {
			matrix.Data = make([]float64, rows)
		} else if _, ok := elements.SizeOf([]int{rows, (columns + data.Lane - 1) / data.Lane * data.Lane}); ok {
			matrix = data.NewMatrix(rows, columns)
		} else {
			return m.fail("has too many values: must have at most %d", elements.Most)
		}
		err := e.Columns(tag.in, matrix.Rows, matrix.Cols, matrix.Row)
		if bad, ok := errors.AsType[*elements.Bad](err); ok {
			at := int(bad.At)
			return m.fail("row %d, column %d: %s", at%rows+1, at/rows+1, bad.Problem)
		}
		if err != nil {
			return m.unreadable(err)
		}
		return nil
	})
	return matrix, err
}
