package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"fedsim/internal/tools/input"
	"fedsim/results"
)

// errorTable is a table of errors: of predictions, from a csv file, or of runs at their end.
type errorTable struct {
	Name string     `json:"name"`
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// addTables reads the tables of a run directory.
func (r *Report) addTables(dir string, files []string) error {
	for _, file := range files {
		name, ok := strings.CutSuffix(file, ".csv")
		if !ok {
			continue
		}
		t, err := readTable(filepath.Join(dir, "tables", file))
		if err != nil {
			return err
		}
		t.Name = name
		r.Tables = append(r.Tables, t)
	}
	return nil
}

// maxTable is the maximum size of a table in bytes.
const maxTable = 1 << 24

func readTable(path string) (t errorTable, err error) {
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return t, err
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return t, errors.New(path + ": is empty: must be a table written by fedsim")
	}
	return errorTable{Head: rows[0], Rows: rows[1:]}, nil
}

// addErrors adds the tables of errors at the end of the runs, a table for each block.
func (r *Report) addErrors(runs []results.Run) {
	for _, t := range results.ErrorTables(runs) {
		for i := range t.Blocks {
			b := &t.Blocks[i]
			name := t.Caption()
			if len(b.Point) > 0 {
				name = results.SettingsText(b.Point) + ": " + name
			}
			name += "; " + strings.Join(append([]string{t.Note()}, b.Notes...), "; ")
			head := append([]string{t.RowKey}, t.Heads()...)
			r.Tables = append(r.Tables, errorTable{Name: name, Head: head, Rows: t.Cells(b)})
		}
	}
}
