package results

import (
	"encoding/csv"
	"io"
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
