package rundir

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/input"
)

// openParquet opens a parquet file for use. Errors and panics of the library on a corrupt
// file become errors that begin with the path.
func openParquet(path string, use func(*parquet.File) error) (err error) {
	file, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("is corrupt: %v", p)
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
	f, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return err
	}
	return use(f)
}
