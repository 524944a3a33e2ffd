package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"fedsim/internal/input"
)

// Table is a table of prediction errors, as its csv file has it.
type Table struct {
	Name string     `json:"name"`
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// addTables reads the tables of a run directory, but for their single shuffles.
func (r *Report) addTables(dir string, files []string) error {
	for _, file := range files {
		name, ok := strings.CutSuffix(file, ".csv")
		if !ok || strings.HasSuffix(name, "-shuffles") {
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

// maxTable is the most bytes of a table: it has a column for each data set.
const maxTable = 1 << 24

func readTable(path string) (t Table, err error) {
	f, err := input.Open(path, maxTable)
	if err != nil {
		return t, err
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return t, errors.New(path + ": has no head: must be a table that fedsim wrote")
	}
	return Table{Head: rows[0], Rows: nonNil(rows[1:])}, nil
}
