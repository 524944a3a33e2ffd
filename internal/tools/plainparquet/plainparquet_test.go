package plainparquet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parquetrows"
)

// The library of the other builds reads the same values, groups and metadata.
func TestLibraryReadsFiles(t *testing.T) {
	columns := []Column{{Name: "run", Kind: Text}, {Name: "round", Kind: Whole}, {Name: "seed", Kind: Unsigned},
		{Name: "time_s", Kind: Real}}
	for i := range 14 { // more than 15 columns: long lists
		columns = append(columns, Column{Name: fmt.Sprintf("more_%02d", i), Kind: Real})
	}
	var file bytes.Buffer
	w := New(&file, "rounds", "fedsim version 1", [2]string{"key", `{"time_s":{}}`}, columns)
	var rows [][]string
	for i := range 700 {
		row := make([]string, len(columns))
		row[0], row[1] = fmt.Sprintf("run é %d", i/500), strconv.Itoa(-i)
		row[2] = strconv.FormatUint(math.MaxUint64, 10)
		if i%3 == 0 {
			row[3] = strconv.FormatFloat(math.Sqrt(float64(i)), 'g', -1, 64)
		}
		if i == 500 {
			expect.That(t, w.Rows() == 500, "%d rows", w.Rows())
			expect.NoError(t, w.EndGroup())
		}
		expect.NoError(t, w.Write(row))
		rows = append(rows, row)
	}
	expect.NoError(t, w.Close())

	content := bytes.NewReader(file.Bytes())
	f := expect.Value(parquetrows.Open(content, content.Size()))(t)
	meta, _ := f.Lookup("key")
	expect.That(t, meta == `{"time_s":{}}` && f.Schema().Name() == "rounds", "metadata %q, name %q", meta,
		f.Schema().Name())
	groups, at := f.RowGroups(), 0
	expect.Must(t, len(groups) == 2 && groups[0].NumRows() == 500, "%d groups", len(groups))
	for i, group := range groups {
		for c := range columns {
			expect.NoError(t, parquetrows.CheckPages(content, content.Size(),
				&f.Metadata().RowGroups[i].Columns[c].MetaData))
		}
		expect.NoError(t, parquetrows.Each(group, func(values []parquet.Value) error {
			var got []string
			for c, v := range values {
				switch {
				case v.IsNull():
					got = append(got, "")
				case columns[c].Kind == Unsigned:
					got = append(got, strconv.FormatUint(v.Uint64(), 10))
				case columns[c].Kind == Real:
					got = append(got, strconv.FormatFloat(v.Double(), 'g', -1, 64))
				default:
					got = append(got, v.String())
				}
			}
			expect.That(t, slices.Equal(got, rows[at]), "row %d: %q, want %q", at, got, rows[at])
			at++
			return nil
		}))
	}
	expect.That(t, at == len(rows), "%d rows, want %d", at, len(rows))
}

// A file without rows can be read; a cell that is no number is an error with its column.
func TestEmptyAndWrong(t *testing.T) {
	var file bytes.Buffer
	w := New(&file, "empty", "fedsim", [2]string{"key", ""}, []Column{{Name: "round", Kind: Whole}})
	expect.NoError(t, w.Close())
	f := expect.Value(parquetrows.Open(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	expect.That(t, f.NumRows() == 0, "%d rows", f.NumRows())
	err := New(io.Discard, "", "", [2]string{}, []Column{{Name: "round", Kind: Whole}}).Write([]string{"x"})
	expect.That(t, err != nil && err.Error() == `round = "x": strconv.ParseInt: parsing "x": invalid syntax`, "%v", err)
}
