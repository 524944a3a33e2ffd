package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// What to do with missing values: values of data.missing.
const (
	MissingError = "error"
	MissingDrop  = "drop"
	MissingMean  = "mean"
)

// Missing counts the values that a file does not have.
type Missing struct {
	Rows    int  // rows with missing values
	Values  int  // the values that they miss
	Dropped bool // the rows were left out; otherwise the values are the means of their features

	Columns []MissingColumn // those that miss values: label, task, features
}

// MissingColumn counts the values that a file does not have in one of the columns that are used.
type MissingColumn struct {
	Name   string
	Values int
	Alone  int // rows that miss a value in no other column
}

// TableReader makes a set of the rows of a table with named columns.
type TableReader struct {
	Columns
	file   string
	cfg    *Config
	labels *Labels
	at     func(column int, problem string) error // an error at a column of the current row
	tasks  []Client
	index  map[string]int // task name -> index into tasks; never iterated
	row    []float64      // of the stride of the matrices
	lines  int            // rows of the table
	known  int64          // rows of the file, 0 if they are not known

	missing  Missing
	columnOf []int // missing values by column of the table
	alone    []int // rows that miss only the value of a column
	lastMiss int   // the column of the last missing value
	first    error // at the first missing value
}

// NewTableReader returns an empty table of the file with the chosen columns of a header. rows is
// their number, 0 if it is not known: it fails where their values are too many. at returns
// the error at a column of the row that is added.
func NewTableReader(cfg *Config, file string, chosen Columns, rows int64, at func(column int, problem string) error) (
	*TableReader, error) {
	if cells := int64(padded(len(chosen.Features), Lane)); rows > elements.Most/cells {
		return nil, fmt.Errorf("has too many values: must have at most %d", elements.Most)
	}
	t := &TableReader{Columns: chosen, file: file, cfg: cfg, labels: cfg.NewLabels(), at: at, index: map[string]int{},
		known: rows}
	t.row = make([]float64, NewMatrix(0, len(chosen.Features)).Stride)
	t.columnOf = make([]int, 1+max(chosen.Task, chosen.Label, chosen.Features[len(chosen.Features)-1]))
	t.alone = make([]int, len(t.columnOf))
	return t, nil
}

// Text returns the target of a row whose label is a text: NaN if it is missing. problem is
// empty or names a fault.
func (t *TableReader) Text(label string) (y float64, problem string) { return t.labels.text(label) }

// Number is Text for a number.
func (t *TableReader) Number(label float64) (y float64, problem string) {
	return t.labels.number(label)
}

// Add adds a row: the name of its task, its target as Text or Number returns it, and its
// features, which are copied. Missing are an empty name and the values NaN.
func (t *TableReader) Add(task string, y float64, x []float64) error {
	t.lines++
	k, known := t.index[task]
	absent := !known && t.Task >= 0 && input.Missing(task)
	missing := 0
	if absent {
		missing += t.miss(t.Task)
	}
	if math.IsNaN(y) {
		absent = true
		missing += t.miss(t.Label)
	}
	for j, v := range x {
		if math.IsNaN(v) {
			missing += t.miss(t.Features[j])
		}
	}
	if missing > 0 {
		if missing == 1 {
			t.alone[t.lastMiss]++
		}
		t.missing.Rows++
		t.missing.Values += missing
		if t.cfg.Missing != MissingMean || absent {
			return nil
		}
	}
	if !known {
		if t.Task < 0 {
			task = "all"
		} else if problem := input.RefuseName(task); problem != "" {
			return t.at(t.Task, "the client's name "+problem)
		}
		k = len(t.tasks)
		name := strings.Clone(task)
		t.tasks = append(t.tasks, Client{Name: name, X: NewMatrix(0, len(t.Features))})
		if t.Task < 0 {
			name = ""
		}
		t.index[name] = k
	}
	copy(t.row, x)
	into := &t.tasks[k]
	into.X.Data = append(into.X.Data, t.row...)
	into.X.Rows++
	into.Y = append(into.Y, y)
	if t.lines == 1 && t.Task < 0 { // all rows are of one task
		into.X.Data = slices.Grow(into.X.Data, int(max(0, t.known-1))*into.X.Stride)
	}
	return nil
}

// miss counts a missing value of a column.
func (t *TableReader) miss(column int) int {
	if t.first == nil {
		t.first = t.at(column, "")
	}
	t.columnOf[column]++
	t.lastMiss = column
	return 1
}

// Set returns the set of the added rows, before Config.setTarget. Its features are NaN
// where Config.Transform fills in values.
func (t *TableReader) Set() (*Set, error) {
	if t.lines == 0 {
		return nil, inFile(t.file, "has a header but no rows")
	}
	if err := t.incomplete(); err != nil {
		return nil, err
	}
	set := &Set{Features: len(t.Features), FeatureNames: t.Names, Clients: t.tasks, Missing: t.missing}
	set.Missing.Dropped = t.cfg.Missing == MissingDrop && t.missing.Rows > 0
	set.Missing.Columns = t.missingColumns()
	for k := range set.Clients {
		set.Clients[k].X.Data = slices.Clip(set.Clients[k].X.Data)
	}
	set.orderTasks()
	t.labels.Finish(set)
	return set, nil
}

// missingColumns returns the columns that miss values: label, task, features.
func (t *TableReader) missingColumns() (list []MissingColumn) {
	add := func(column int, name string) {
		if column >= 0 && t.columnOf[column] > 0 {
			list = append(list, MissingColumn{name, t.columnOf[column], t.alone[column]})
		}
	}
	add(t.Label, t.cfg.LabelColumn)
	add(t.Task, t.cfg.ClientColumn)
	for j, column := range t.Features {
		add(column, t.Names[j])
	}
	return list
}

// ListMissing lists the columns with the most missing values first, as text.
func ListMissing(columns []MissingColumn) string {
	columns = slices.Clone(columns)
	slices.SortStableFunc(columns, func(a, b MissingColumn) int { return b.Values - a.Values })
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = fmt.Sprintf("%s: %d", quote.Text(c.Name), c.Values)
		if c.Alone > 0 && len(columns) > 1 {
			names[i] += fmt.Sprintf(" (%d alone)", c.Alone)
		}
	}
	return listClasses(names)
}

// incomplete returns the error for missing values that the configuration does not allow.
func (t *TableReader) incomplete() error {
	if t.missing.Rows == 0 {
		return nil
	}
	empty, required, features := "", t.columnOf[t.Label], 0
	if t.Task >= 0 {
		required += t.columnOf[t.Task]
	}
	for j, column := range t.Features {
		n := t.columnOf[column]
		features += n
		if n == t.lines && empty == "" {
			empty = t.Names[j]
		}
	}
	var remedy string
	switch {
	case empty != "":
		remedy = fmt.Sprintf("the column %s has no values: data.drop_columns must name it", quote.Text(empty))
	case t.cfg.Missing == MissingError && features == 0, t.cfg.Missing == MissingMean && required > 0:
		remedy = `data.missing must be "drop" to leave these rows out`
	case t.cfg.Missing == MissingError:
		remedy =
			`data.missing must be "drop" to leave these rows out, "mean" to fill in means of the features, ` +
				`or data.drop_columns name these columns`
	case len(t.tasks) == 0:
		remedy = "no row is complete: data.drop_columns must name columns to leave out"
	default:
		return nil
	}
	problem := fmt.Sprintf("values are missing in %d of %d rows (%s); %s", t.missing.Rows, t.lines,
		ListMissing(t.missingColumns()), remedy)
	if place, ok := errors.AsType[*ParseError](t.first); ok {
		return &ParseError{File: place.File, Line: place.Line, Column: place.Column, Problem: problem}
	}
	return &ParseError{File: t.file, Problem: problem}
}

// orderTasks sorts tasks by number if all names are whole numbers.
func (s *Set) orderTasks() {
	numbers := make(map[string]int64, len(s.Clients))
	for t := range s.Clients {
		number, err := strconv.ParseInt(s.Clients[t].Name, 10, 64)
		if err != nil {
			return
		}
		numbers[s.Clients[t].Name] = number
	}
	slices.SortStableFunc(s.Clients, func(a, b Client) int { return cmp.Compare(numbers[a.Name], numbers[b.Name]) })
}
