package formats

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// maxColumns limits the indices of features.
const maxColumns = 1 << 28

// libsvmReader reads text in the format of LIBSVM and SVMlight, a row a line:
//
//	label [qid:task] index:value index:value ... # comment
//
// Indices ascend from 1, features that a row does not have are 0.
type libsvmReader struct {
	name     string
	labels   *data.Labels
	tasks    []data.Client
	index    map[string]int
	named    bool // rows have a task's name
	features int  // the largest index

	line    int
	columns []int32
	values  []float64
}

// readLIBSVM reads the file at a path. Tasks are named by qid; without
// names all rows are one task. Rows with few nonzero values are sparse.
func readLIBSVM(cfg data.Config, path string) (set *data.Set, err error) {
	file, err := data.OpenText(path)
	if err != nil {
		return nil, fmt.Errorf("read LIBSVM data: %w", err)
	}
	defer input.CloseAfter(file, &err)
	r := &libsvmReader{name: path, labels: cfg.NewLabels(), index: map[string]int{}}
	if set, err = r.read(file); err != nil {
		return nil, err
	}
	return set, nil
}

// read returns the set of a file.
func (r *libsvmReader) read(in io.Reader) (*data.Set, error) {
	lines := newLineReader(in, r.name)
	for {
		text, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r.line = lines.line
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := r.row(text); err != nil {
			return nil, err
		}
	}
	if len(r.tasks) == 0 {
		return nil, inFile(r.name, "has no rows")
	}
	if r.features == 0 {
		return nil, inFile(r.name, "has no features: rows must have index:value after the label")
	}
	set := &data.Set{Clients: r.tasks}
	set.Settle(r.features)
	r.labels.Finish(set)
	return set, nil
}

// row adds a row to its task.
func (r *libsvmReader) row(text string) error {
	label, rest := cutBlank(text)
	if strings.Contains(label, ":") {
		return r.fail("begins with %s: a row must begin with its label", quote.Text(label))
	}
	if strings.Contains(label, ",") {
		return r.fail("the label %s is a list: rows must have one label", quote.Text(label))
	}
	y, problem := r.labels.Required(label)
	if problem != "" {
		return r.fail("%s", problem)
	}
	name, named := "all", false
	if strings.HasPrefix(rest, "qid:") {
		var field string
		field, rest = cutBlank(rest)
		name, named = field[len("qid:"):], true
	}
	if len(r.tasks) > 0 && named != r.named {
		return r.fail("only some rows have qid: all must have one, or none")
	}
	r.named = named
	if problem := input.RefuseClient(name); problem != "" {
		return r.fail("the client's name %s", problem)
	}
	if err := r.readFeatures(rest); err != nil {
		return err
	}
	t, known := r.index[name]
	if !known {
		t = len(r.tasks)
		name = strings.Clone(name)
		r.index[name] = t
		r.tasks = append(r.tasks, data.Client{Name: name, X: data.NewSparse(0)})
	}
	r.tasks[t].X.AppendRow(r.columns, r.values)
	r.tasks[t].Y = append(r.tasks[t].Y, y)
	return nil
}

// readFeatures reads the pairs of a row. Values of 0 are left out.
func (r *libsvmReader) readFeatures(text string) error {
	r.columns, r.values = r.columns[:0], r.values[:0]
	last := 0
	for text != "" {
		var pair string
		pair, text = cutBlank(text)
		key, number, found := strings.Cut(pair, ":")
		if !found {
			return r.fail("%s must be index:value", quote.Text(pair))
		}
		index, err := strconv.Atoi(key)
		switch {
		case err != nil || index < 0:
			return r.fail("the index %s must be a whole number, from 1", quote.Text(key))
		case index == 0:
			return r.fail("the index is 0: indices must count from 1 (scikit-learn writes them with zero_based=False)")
		case index > maxColumns:
			return r.fail("the index %d must be at most %d", index, maxColumns)
		case index <= last:
			return r.fail("the index %d follows %d: indices must ascend", index, last)
		}
		last = index
		value, problem := input.Value(number)
		if problem != "" {
			return r.fail("index %d: %s", index, problem)
		}
		r.features = max(r.features, index)
		if value != 0 {
			r.columns, r.values = append(r.columns, int32(index-1)), append(r.values, value)
		}
	}
	return nil
}

// cutBlank returns the text before the first blanks, and that after them.
func cutBlank(text string) (field, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimLeft(text[at:], " \t")
}

// fail returns an error at the current line.
func (r *libsvmReader) fail(format string, arguments ...any) error {
	return atLine(r.name, r.line, format, arguments...)
}

// lineReader reads lines of a bounded size.
type lineReader struct {
	name    string
	line    int
	records *input.Records
	in      *bufio.Reader
	long    []byte
}

func newLineReader(in io.Reader, name string) *lineReader {
	records := input.NewRecords(in, maxRow)
	return &lineReader{name: name, records: records, in: bufio.NewReaderSize(records, 1<<16)}
}

// next returns the next line without its end, or io.EOF.
func (l *lineReader) next() (string, error) {
	l.records.Next()
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.long = append(l.long, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.long) == 0:
			return "", io.EOF
		case err != nil && err != io.EOF:
			return "", &data.ParseError{File: l.name, Line: l.line + 1, Problem: "cannot be read", Err: err}
		}
		l.line++
		return string(l.long), nil
	}
}
