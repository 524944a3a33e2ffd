//go:build !noparquet

package rundir

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/parquetrows"
)

// places returns the places of columns in a file, which it finds by name; -1: the file does not have the
// column, of which nothing is known.
func places(f *parquet.File, columns []column) ([]int, error) {
	at := make([]int, len(columns))
	for i, c := range columns {
		leaf, ok := f.Schema().Lookup(c.name)
		switch {
		case !ok && c.optional:
			at[i] = -1
			continue
		case !ok:
			return nil, fmt.Errorf("has no column %q", c.name)
		case leaf.Node.Type().Kind() != c.node().Type().Kind() || leaf.MaxRepetitionLevel > 0:
			return nil, fmt.Errorf("is corrupt: its column %q is of type %s", c.name, leaf.Node.Type())
		}
		at[i] = leaf.ColumnIndex
	}
	return at, nil
}

// openParquet opens a parquet file for use. Errors and panics of the library on a corrupt
// file become errors that begin with the path.
func openParquet(path string, use func(*parquet.File) error) (err error) {
	file, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = parquetrows.Corrupt(p)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		err = errors.Join(err, file.Close())
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f, err := parquetrows.Open(file, info.Size())
	if err != nil {
		return err
	}
	return use(f)
}
