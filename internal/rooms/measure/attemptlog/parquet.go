//go:build !noparquet

package attemptlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/parquetrows"
)

// settingsKey is the metadata key of the settings of a parquet file, TOML text.
const settingsKey = "fedsim.settings"

// readParquet reads a parquet file. Every row becomes the cells of a csv file, so that both
// formats have the same rules.
func (b *builder) readParquet(path string) (err error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()              // it was only read
		if p := recover(); p != nil { // the library panics on some corrupt files
			err = parquetrows.Corrupt(p)
		}
		if _, placed := errors.AsType[config.Errors](err); err != nil && !placed {
			err = config.Errors{{Place: config.Place{File: path}, Text: err.Error()}}
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f, err := parquetrows.Open(file, info.Size())
	if err != nil {
		return err
	}
	index, err := parquetrows.Index(f)
	if err != nil {
		return err
	}
	header, places, err := flatColumns(f.Root(), index)
	if err != nil {
		return err
	}
	t, err := b.header(path, header, nil)
	if err != nil {
		return err
	}
	if err := t.readRows(file, info.Size(), f, places); err != nil {
		return err
	}
	t.finish()
	if settings, ok := f.Lookup(settingsKey); ok {
		return b.set(path+": "+settingsKey, settings)
	}
	return nil
}

// readRows adds the rows of a file, of the columns in some places.
func (t *table) readRows(file io.ReaderAt, size int64, f *parquet.File, places []int) error {
	line := 0
	cells := make([]string, len(places))
	for i, group := range f.RowGroups() {
		for _, place := range places {
			of := &f.Metadata().RowGroups[i].Columns[place].MetaData
			if err := parquetrows.CheckPages(file, size, of); err != nil {
				return fmt.Errorf("column %s: %w", f.Root().Columns()[place].Name(), err)
			}
		}
		if err := parquetrows.Each(group, func(row []parquet.Value) error {
			for i, place := range places {
				cells[i] = text(&row[place])
			}
			line++
			t.add(line, cells)
			return nil
		}); err != nil {
			return err
		}
		if t.builder.full() {
			break
		}
	}
	return nil
}

// flatColumns returns the names and places of the columns of a file, but those of its index that no log has.
func flatColumns(root *parquet.Column, index []string) (header []string, places []int, err error) {
	for i, c := range root.Columns() {
		if slices.Contains(index, c.Name()) &&
			!slices.ContainsFunc(Columns, func(own Column) bool { return own.Name == c.Name() }) {
			continue
		}
		if !c.Leaf() || c.MaxRepetitionLevel() > 0 {
			return nil, nil, fmt.Errorf("column %s is nested: must have one value a row", c.Name())
		}
		header, places = append(header, c.Name()), append(places, i)
	}
	return header, places, nil
}

// text returns a value as the cell of a csv file; null is empty.
func text(v *parquet.Value) string {
	x := 0.0
	switch v.Kind() {
	case parquet.Double:
		x = v.Double()
	case parquet.Float:
		x = float64(v.Float())
	}
	if v.IsNull() || math.IsNaN(x) { // NaN is a missing value
		return ""
	}
	return v.String()
}
