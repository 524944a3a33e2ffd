// Package parquetrows reads the rows of parquet files that may be corrupt.
//
// It must not know the columns.
package parquetrows

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

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
