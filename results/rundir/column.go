package rundir

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
)

// kind is what the cells of a column hold.
type kind uint8

const (
	textCell  kind = iota
	wholeCell      // a count or a number of something
	seedCell       // all 64 bits
	realCell       // a float; empty when it is not known
)

// column describes a column of a table.
type column struct {
	name string
	kind kind
	unit string // "s", "J", "B" or "FLOP"; empty: a count, a share, a text
	doc  string
	// added says that run directories of older versions do not have the column. They
	// are read all the same.
	added bool
}

// names returns the names of columns.
func names(columns []column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return list
}

// table is a table on its way to a file. Its rows are cells as csv holds them, an
// empty one being unknown; a row is valid until the next.
type table struct {
	name    string
	columns []column
	rows    func(yield func(row []string) error) error
}

// writeCSV writes a row of names and the rows.
func (t table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(names(t.columns)); err != nil {
		return err
	}
	if err := t.rows(out.Write); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// forSpreadsheets returns the table with its texts as spreadsheets show them, of which
// none is taken for a formula.
func (t table) forSpreadsheets() table {
	rows := t.rows
	t.rows = func(yield func([]string) error) error {
		return rows(func(row []string) error {
			row = slices.Clone(row)
			for i := range row {
				if t.columns[i].kind == textCell {
					row[i] = NoFormula(row[i])
				}
			}
			return yield(row)
		})
	}
	return t
}

// NoFormula returns a text with an apostrophe before it where a spreadsheet would take
// it for a formula: before =, +, - and @, unless it is a number, and before white space
// that it skips.
func NoFormula(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// writeJSON writes an array with an object for each row, a line each. What is not
// known is null; numbers that JSON does not have are the texts "+Inf" and "-Inf".
func (t table) writeJSON(w io.Writer) error {
	keys := make([]string, len(t.columns))
	for i, c := range t.columns {
		keys[i] = quoted(c.name) + ":"
	}
	between, line := "[\n{", []byte(nil)
	err := t.rows(func(row []string) error {
		line = append(line[:0], between...)
		for i, cell := range row {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(append(line, keys[i]...), t.columns[i].json(cell)...)
		}
		between = "},\n{"
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	end := "}\n]\n"
	if line == nil {
		end = "[]\n"
	}
	_, err = io.WriteString(w, end)
	return err
}

// json returns a cell as a JSON value.
func (c *column) json(cell string) string {
	switch {
	case cell == "":
		return "null"
	case c.kind == textCell, c.kind == realCell && (cell == "+Inf" || cell == "-Inf"):
		return quoted(cell)
	default:
		return cell
	}
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be marshalled
	}
	return string(b)
}
