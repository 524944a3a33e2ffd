package rundir

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"fedsim/results"
)

// kind is the type of the cells of a column: one of records, or seedCell.
type kind results.Type

const (
	textCell  = kind(results.TextType)
	wholeCell = kind(results.WholeType)
	realCell  = kind(results.RealType)
	seedCell  = realCell + 1 // all 64 bits
)

// column describes a column of a table.
type column struct {
	name string
	kind kind
	unit string // "s", "J", "B" or "FLOP"; empty: a count, a share, a text
	doc  string

	optional bool // files may lack it, see results.Column.MayLack
}

// names returns the names of columns.
func names(columns []column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return list
}

// table is a table to be written. Its cells are those of csv, empty when not known. A row
// is valid until the next.
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

// forSpreadsheets returns the table with texts that no spreadsheet takes for formulas.
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

// NoFormula puts an apostrophe before a text that a spreadsheet would take for a formula:
// one that begins with =, +, -, @ or white space, and is not a number.
func NoFormula(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// writeJSON writes an array with an object for each row, one a line. Unknown values are
// null; infinities are the texts "+Inf" and "-Inf".
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

// columnsKey is the metadata key of the units and descriptions of the columns, as JSON:
// {"time_s": {"unit": "s", "description": "..."}}.
const columnsKey = "fedsim.columns"

// mostRows is the largest number of rows of a row group. It bounds the memory of writers
// and readers to about 10 MB.
const mostRows = 1 << 16

// describe returns the metadata of columns.
func describe(columns []column) string {
	type about struct {
		Unit        string `json:"unit"`
		Description string `json:"description"`
	}
	all := make(map[string]about, len(columns))
	for _, c := range columns {
		all[c.name] = about{c.unit, c.doc}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts can be marshalled
	}
	return string(text)
}
