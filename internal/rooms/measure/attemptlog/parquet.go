//go:build !noparquet

package attemptlog

import (
	"errors"
	"fmt"
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
	var header []string
	var places []int
	for i, c := range f.Root().Columns() {
		if slices.Contains(index, c.Name()) &&
			!slices.ContainsFunc(Columns, func(own Column) bool { return own.Name == c.Name() }) {
			continue
		}
		if !c.Leaf() || c.MaxRepetitionLevel() > 0 {
			return fmt.Errorf("column %s is nested: must have one value a row", c.Name())
		}
		header, places = append(header, c.Name()), append(places, i)
	}
	t, err := b.header(path, header, nil)
	if err != nil {
		return err
	}
	line := 0
	cells := make([]string, len(header))
	for i, group := range f.RowGroups() {
		for _, place := range places {
			if err := parquetrows.CheckPages(file, info.Size(),
				&f.Metadata().RowGroups[i].Columns[place].MetaData); err != nil {
				return fmt.Errorf("column %s: %w", header[slices.Index(places, place)], err)
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
		if b.full() {
			break
		}
	}
	t.finish()
	if settings, ok := f.Lookup(settingsKey); ok {
		return b.set(path+": "+settingsKey, settings)
	}
	return nil
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
