// Package parquetrows reads the rows of parquet files that may be corrupt.
//
// It must not know the columns.
package parquetrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Open opens a file whose metadata at the end is complete. It reads no index of pages and no bloom filter.
func Open(file io.ReaderAt, size int64) (*parquet.File, error) {
	if err := checkFooter(file, size); err != nil {
		return nil, err
	}
	return parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
}

// Index returns the names of the columns that are the index of a table of pandas, which its metadata lists. An index
// that counts rows has no column.
func Index(f *parquet.File) (names []string, err error) {
	text, ok := f.Lookup("pandas")
	if !ok {
		return nil, nil
	}
	var table struct {
		Index []any `json:"index_columns"`
	}
	if err := json.Unmarshal([]byte(text), &table); err != nil {
		return nil, fmt.Errorf("has corrupt metadata of pandas: %w", err)
	}
	for _, column := range table.Index {
		if name, ok := column.(string); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Each calls each with the values of each row of a group. The length of a group is
// checked: corrupt pages may have rows without end.
func Each(group parquet.RowGroup, each func([]parquet.Value) error) (err error) {
	rows, columns, left := group.Rows(), len(group.ColumnChunks()), group.NumRows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	batch := make([]parquet.Row, 256)
	for {
		n, err := rows.ReadRows(batch)
		if left -= int64(n); left < 0 || n == 0 && err == nil || err == io.EOF && left > 0 {
			return fmt.Errorf("is corrupt: a group of %d rows has others", group.NumRows())
		}
		for _, row := range batch[:n] {
			if len(row) != columns {
				return fmt.Errorf("is corrupt: a row has %d values, must have %d", len(row), columns)
			}
			if err := each(row); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
