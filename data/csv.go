package data

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fedsim/config"
	"fedsim/internal/input"
)

// The most bytes of a file of data, and of one of its rows.
const (
	maxFile = 1 << 36
	maxRow  = 1 << 26
)

// ReadCSVFile reads the file at path as ReadCSV does; the set is named after
// the file.
func ReadCSVFile(path, taskColumn, labelColumn, target string) (*Set, error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read csv data: %w", err)
	}
	set, err := ReadCSV(file, path, taskColumn, labelColumn, target)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	set.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return set, nil
}

// ReadCSV reads a set from comma-separated values with a header: one row per
// example, the column taskColumn names its task, labelColumn has its label or
// real target and all other columns are features, in their order. Name is for
// messages and the set's name.
//
// With target TargetClass labels are -1 and +1, or 0 and 1, in which case 0
// becomes -1; with TargetReal they are finite numbers of any size up to 1e100.
// Tasks are in
// numerical order when all their names are whole numbers, else in the order in
// which they first appear; their rows are in file order and need not be next
// to each other. Blanks around fields are ignored. Faults are a *ParseError
// with line and column. A set with labels of one class alone is refused with
// ErrOneClass, one whose real targets are all equal with ErrOneTarget; within a
// single task they may be.
func ReadCSV(r io.Reader, name, taskColumn, labelColumn, target string) (*Set, error) {
	rows := input.NewRecords(r, maxRow)
	buffered := bufio.NewReaderSize(rows, 1<<16)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		if _, err := buffered.Discard(3); err != nil { // spreadsheets write a byte-order mark
			return nil, &ParseError{File: name, Problem: "cannot be read", Err: err}
		}
	}
	p := &csvParser{name: name, real: target == TargetReal, records: csv.NewReader(buffered), index: map[string]int{}}
	p.records.ReuseRecord = true
	p.records.FieldsPerRecord = -1 // counted here, for a message with both numbers
	if err := p.header(taskColumn, labelColumn); err != nil {
		return nil, err
	}
	for {
		record, err := p.records.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, p.unreadable(err)
		}
		rows.Next()
		if err := p.row(record); err != nil {
			return nil, err
		}
	}
	if len(p.tasks) == 0 {
		return nil, &ParseError{File: name, Problem: "has a header but no rows"}
	}
	set := &Set{Name: name, Features: len(p.features), FeatureNames: p.features, Tasks: p.tasks, Real: p.real}
	for t := range set.Tasks {
		set.Tasks[t].X.Data = slices.Clip(set.Tasks[t].X.Data)
	}
	set.orderTasks()
	if err := set.requireVariety(); err != nil {
		return nil, &ParseError{File: name, Problem: fmt.Sprintf("the column %s", quote(labelColumn)), Err: err}
	}
	return set, nil
}

// csvParser holds what is known while the rows stream by.
type csvParser struct {
	name          string
	real          bool // targets are real numbers
	records       *csv.Reader
	columns       int // of every row
	task, label   int // their columns
	features      []string
	tasks         []Task
	index         map[string]int // task name -> index into tasks; never iterated
	zeroLine      int            // where the first label 0 is, or 0
	negativeLine  int            // where the first label -1 is, or 0
	stride        int
	featureColumn []int // column of each feature
}

// header reads the first row.
func (p *csvParser) header(taskColumn, labelColumn string) error {
	record, err := p.records.Read()
	if err == io.EOF {
		return &ParseError{File: p.name, Problem: fmt.Sprintf("the file is empty, it must have a header with the columns %s, %s and the features", quote(taskColumn), quote(labelColumn))}
	}
	if err != nil {
		return p.unreadable(err)
	}
	p.columns, p.task, p.label = len(record), -1, -1
	first := make(map[string]int, len(record))
	names := make([]string, len(record))
	for column, field := range record {
		name := strings.TrimSpace(field)
		names[column] = name
		if problem := refuseName(name); problem != "" {
			return p.at(column, "the column's name "+problem)
		}
		if earlier, ok := first[name]; ok {
			return p.at(column, fmt.Sprintf("the columns %d and %d have the same name %s", earlier+1, column+1, quote(name)))
		}
		first[name] = column
		switch name {
		case taskColumn:
			p.task = column
		case labelColumn:
			p.label = column
		default:
			p.features = append(p.features, name)
			p.featureColumn = append(p.featureColumn, column)
		}
	}
	for _, wanted := range []struct {
		column int
		key    string
		name   string
	}{{p.task, "task_column", taskColumn}, {p.label, "label_column", labelColumn}} {
		if wanted.column < 0 {
			problem := fmt.Sprintf("the header has no column %s (%s)", quote(wanted.name), wanted.key)
			if near := config.Nearest(wanted.name, names); near != "" {
				problem += fmt.Sprintf("; did you mean %s?", quote(near))
			}
			return &ParseError{File: p.name, Line: 1, Problem: problem}
		}
	}
	if len(p.features) == 0 {
		return &ParseError{File: p.name, Line: 1, Problem: "the header names no feature: there must be a column beside task and label"}
	}
	p.stride = NewMatrix(0, len(p.features)).Stride
	return nil
}

// row adds one example to its task.
func (p *csvParser) row(record []string) error {
	if len(record) != p.columns {
		return p.at(0, fmt.Sprintf("the row has %d fields, the header has %d", len(record), p.columns))
	}
	name := strings.TrimSpace(record[p.task])
	t, known := p.index[name]
	if !known {
		if problem := refuseName(name); problem != "" {
			return p.at(p.task, "the task's name "+problem)
		}
		t = len(p.tasks)
		name = strings.Clone(name)
		p.index[name] = t
		p.tasks = append(p.tasks, Task{Name: name, X: NewMatrix(0, len(p.features))})
	}
	y, problem := p.parseTarget(strings.TrimSpace(record[p.label]))
	if problem != "" {
		return p.at(p.label, problem)
	}
	task := &p.tasks[t]
	start := len(task.X.Data)
	task.X.Data = append(task.X.Data, make([]float64, p.stride)...)
	for j, column := range p.featureColumn {
		value, problem := parseValue(strings.TrimSpace(record[column]))
		if problem != "" {
			return p.at(column, problem)
		}
		task.X.Data[start+j] = value
	}
	task.X.Rows++
	task.Y = append(task.Y, y)
	return nil
}

// parseTarget reads a label or a real target.
func (p *csvParser) parseTarget(field string) (y float64, problem string) {
	if !p.real {
		return p.parseLabel(field)
	}
	if y, problem = parseValue(field); problem != "" {
		problem = "the target " + problem
	}
	return y, problem
}

// parseLabel maps a label to -1 or +1 and sees to it that 0 and -1 do not mix.
func (p *csvParser) parseLabel(field string) (y float64, problem string) {
	value, err := strconv.ParseFloat(field, 64)
	line, _ := p.records.FieldPos(p.label)
	switch {
	case err == nil && value == 1:
		return 1, ""
	case err == nil && value == 0 && p.negativeLine == 0:
		if p.zeroLine == 0 {
			p.zeroLine = line
		}
		return -1, ""
	case err == nil && value == -1 && p.zeroLine == 0:
		if p.negativeLine == 0 {
			p.negativeLine = line
		}
		return -1, ""
	case err == nil && value == 0:
		return 0, fmt.Sprintf("the label is 0, but line %d has -1: labels must be -1 and +1, or 0 and 1", p.negativeLine)
	case err == nil && value == -1:
		return 0, fmt.Sprintf("the label is -1, but line %d has 0: labels must be -1 and +1, or 0 and 1", p.zeroLine)
	case err == nil && !math.IsNaN(value) && !math.IsInf(value, 0):
		return 0, fmt.Sprintf("the label %s must be -1 or +1 (or 0 and 1); with target \"real\" it may be any number", quote(field))
	default:
		return 0, fmt.Sprintf("the label %s must be -1 or +1 (or 0 and 1)", quote(field))
	}
}

// at returns an error at a column of the row just read.
func (p *csvParser) at(column int, problem string) error {
	line, position := p.records.FieldPos(column)
	return &ParseError{File: p.name, Line: line, Column: position, Problem: problem}
}

// unreadable turns an error of the reader into one with our file's name.
func (p *csvParser) unreadable(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return &ParseError{File: p.name, Line: parse.Line, Column: parse.Column, Problem: "not comma-separated values", Err: parse.Err}
	}
	return &ParseError{File: p.name, Problem: "cannot be read", Err: err}
}

// refuseName says what is wrong with the name of a column or a task, or "".
func refuseName(name string) string {
	if name == "" {
		return "is empty"
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return quote(name) + " must be text without control characters"
	}
	return ""
}

// orderTasks sorts tasks by number when all names are whole numbers.
func (s *Set) orderTasks() {
	numbers := make(map[string]int64, len(s.Tasks))
	for t := range s.Tasks {
		number, err := strconv.ParseInt(s.Tasks[t].Name, 10, 64)
		if err != nil {
			return
		}
		numbers[s.Tasks[t].Name] = number
	}
	slices.SortStableFunc(s.Tasks, func(a, b Task) int {
		switch {
		case numbers[a.Name] < numbers[b.Name]:
			return -1
		case numbers[a.Name] > numbers[b.Name]:
			return 1
		default:
			return 0
		}
	})
}
