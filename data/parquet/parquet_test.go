package parquet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// parquetRow is a row of a small file.
type parquetRow struct {
	Task  int32     `parquet:"client"`
	Label float64   `parquet:"label"`
	X     float32   `parquet:"x"`
	List  []float64 `parquet:"list,list"`
	Note  string    `parquet:"note"`
	Gap   *int64    `parquet:"gap,optional"`
}

// parquetBytes returns a file of rows in groups of two.
func parquetBytes(codec compress.Codec, rows ...parquetRow) []byte {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&out, parquet.Compression(codec), parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func smallParquet() []parquetRow {
	one := int64(1)
	return []parquetRow{
		{10, 1, 0.5, []float64{1, 2}, "a", &one}, {9, -1, 1.5, []float64{3, 4}, "b", nil},
		{10, -1, 2.5, []float64{5, 6}, "c", &one},
	}
}

func readParquetBytes(tb testing.TB, content []byte, change func(*data.Config)) (*data.Set, error) {
	tb.Helper()
	path := filetest.New(tb, "set.parquet", content)
	cfg := data.Defaults()
	cfg.DropColumns = data.NamesOf("note", "gap")
	if change != nil {
		change(&cfg)
	}
	return read(cfg, path)
}

// arrowFile returns the file that testdata/scipy/make.py of package data makes.
func arrowFile(tb testing.TB) []byte {
	tb.Helper()
	text := filetest.Read(tb, filepath.Join("..", "testdata", "scipy", "arrow.parquet.b64"))
	content := expect.Value(base64.StdEncoding.DecodeString(strings.ReplaceAll(string(text), "\n", "")))(tb)
	return content
}

// checkShape checks that the tasks have the set's features and as many targets as rows.
func checkShape(t *testing.T, set *data.Set) {
	t.Helper()
	for k := range set.Clients {
		task := &set.Clients[k]
		if task.X.Cols != set.Features || len(task.Y) != task.X.Rows || len(task.X.Data) != task.X.Rows*task.X.Stride {
			t.Fatalf("task %d: %d rows, %d columns, stride %d, %d values, %d targets in a set of %d features",
				k, task.X.Rows, task.X.Cols, task.X.Stride, len(task.X.Data), len(task.Y), set.Features)
		}
	}
}

func TestReadParquet(t *testing.T) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd,
		&parquet.Brotli} {
		set := expect.Value(readParquetBytes(t, parquetBytes(codec, smallParquet()...), nil))(t)
		checkShape(t, set)
		nine, ten := &set.Clients[0], &set.Clients[1]
		if diff := cmp.Diff([][]float64{{1.5, 3, 4}, {0.5, 1, 2}, {2.5, 5, 6}, {0}, {1, 0}},
			[][]float64{nine.X.Row(0), ten.X.Row(0), ten.X.Row(1), nine.Y, ten.Y}); diff != "" || nine.Name != "9" {
			t.Errorf("%s: %s", codec, diff)
		}
		if diff := cmp.Diff([]string{"x", "list[0]", "list[1]"}, set.FeatureNames) +
			cmp.Diff([]string{"-1", "1"}, set.Classes); diff != "" {
			t.Error(diff)
		}
	}
}

// Package data reads the source with this package.
func TestSourceIsRegistered(t *testing.T) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.DropColumns = data.SourceParquet, filepath.Join(t.TempDir(), "small.parquet"),
		data.NamesOf("note", "gap")
	filetest.Write(t, cfg.Path, parquetBytes(&parquet.Zstd, smallParquet()...))
	set, err := data.Load(cfg)
	expect.That(t, err == nil && set.Name == "small" && slices.Equal(set.Clients[1].Y, []float64{1, -1}),
		"%v, %+v", err, set)
}

// The file of testdata/scipy/make.py has texts, lists, nulls, truth values and large numbers.
func TestReadParquetOfArrow(t *testing.T) {
	content := arrowFile(t)
	set, err := readParquetBytes(t, content,
		func(c *data.Config) { c.DropColumns, c.Missing, c.ClientColumn = "", data.MissingDrop, "task" })
	expect.NoError(t, err)
	checkShape(t, set)
	if diff := cmp.Diff([]string{"x[0]", "x[1]", "x[2]", "gap", "odd", "big"}, set.FeatureNames) +
		cmp.Diff([]string{"b", "é"}, set.Classes); diff != "" {
		t.Error(diff)
	}
	if first := set.Clients[0].X.Row(0); first[5] != math.Ldexp(1, 64) || set.Missing.Rows != 1 {
		t.Errorf("%v, %+v", first, set.Missing)
	}
	row := 0
	for k, name := range []string{"two", "ten", "one"} {
		task := &set.Clients[k]
		for i := range task.X.Rows {
			first := float64(20*k + 5*i)
			if want := []float64{first / 8, -(first + 1) / 8, (first + 2) / 8, float64(row + 1),
				float64(row % 2)}; !cmp.Equal(task.X.Row(i)[:5], want) {
				t.Errorf("%s: %v, want %v", name, task.X.Row(i), want)
			}
			row++
			if k == 0 {
				row++ // the row without a value was left out
			}
		}
	}
	_, err = readParquetBytes(t, content, func(c *data.Config) { c.DropColumns, c.ClientColumn = "", "task" })
	if want := `set.parquet: values are missing in 1 of 9 rows ("gap": 1); data.missing must be`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestReadParquetErrors(t *testing.T) {
	good := parquetBytes(&parquet.Snappy, smallParquet()...)
	rows := func(change func([]parquetRow)) []byte {
		list := smallParquet()
		change(list)
		return parquetBytes(&parquet.Snappy, list...)
	}
	for _, c := range []struct {
		content []byte
		change  func(*data.Config)
		want    string
	}{
		{nil, nil, "cannot be read: is too short for a parquet file"},
		{good[:len(good)-1], nil, "cannot be read: is not a complete parquet file"},
		{append([]byte("PAR1"), "\x00\x00\x00\x7fPAR1"...), nil, "is not a complete"},
		{append([]byte("PAR1\x19\xfc"), "\x02\x00\x00\x00PAR1"...), nil, "cannot be read: has corrupt metadata"},
		{parquetBytes(&parquet.Lz4Raw, smallParquet()...), nil,
			`set.parquet: column "label": is packed by LZ4: write the file with another compression, such as zstd`},
		{good, func(c *data.Config) { c.ClientColumn = "cleint" }, `the header has no column "cleint"`},
		{good, func(c *data.Config) { c.DropColumns = "" }, `column "note" has texts: data.drop_columns must name it`},
		{good, func(c *data.Config) { c.LabelColumn = "list" }, `column "list" has lists: must have one value a row`},
		{rows(func(r []parquetRow) { r[1].List = []float64{1} }), nil, `column "list" has lists of different lengths`},
		{rows(func(r []parquetRow) { r[0].List, r[1].List = []float64{1}, []float64{1, 2, 3} }), nil,
			`row 1, column "list": must have 2 values in each row`},
		{rows(func(r []parquetRow) { r[2].X = float32(math.Inf(1)) }), nil,
			`row 3, column "x": +Inf is not a finite number`},
		{rows(func(r []parquetRow) { r[2].List[1] = 1e200 }), nil, `row 3, column "list[1]": 1e+200 is too large`},
		{rows(func(r []parquetRow) { r[2].Label = 3 }), nil, `row 3, column "label": the label "3" is a third class`},
	} {
		_, err := readParquetBytes(t, c.content, c.change)
		if _, ok := errors.AsType[*data.ParseError](err); !ok || !strings.Contains(err.Error(), "set.parquet: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Tasks that differ only beyond the 53 bits of a float64 are different tasks.
func TestParquetTasksOf64Bits(t *testing.T) {
	type row struct {
		Task  uint64  `parquet:"client"`
		Other int64   `parquet:"other"`
		Label float64 `parquet:"label"`
		X     float64 `parquet:"x"`
	}
	var out bytes.Buffer
	expect.NoError(t, parquet.Write(&out,
		[]row{{math.MaxUint64, 1<<53 + 1, 0, 1}, {math.MaxUint64 - 1, 1 << 53, 1, 2}}))
	for column, want := range map[string][]string{"client": {"18446744073709551615", "18446744073709551614"},
		"other": {"9007199254740992", "9007199254740993"}} {
		set := expect.Value(readParquetBytes(t, out.Bytes(),
			func(c *data.Config) { c.ClientColumn, c.DropColumns = column, "" }))(t)
		var names []string
		for _, task := range set.Clients {
			names = append(names, task.Name)
		}
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
			t.Errorf("tasks %q, want %q", names, want)
		}
	}
}

// Each value of a list has a name, so few bytes must not claim many.
func TestParquetWithLongLists(t *testing.T) {
	type row struct {
		Label float64 `parquet:"label"`
		X     []bool  `parquet:"x,list"`
	}
	var out bytes.Buffer
	expect.NoError(t, parquet.Write(&out, []row{{1, make([]bool, maxListed+1)}}))
	_, err := readParquetBytes(t, out.Bytes(), func(c *data.Config) { c.ClientColumn, c.DropColumns = "", "" })
	if want := `column "x" has lists of 1048577 values, with those before it more than 1048576`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Dates and times are no features: their numbers depend on the unit of the file.
func TestReadParquetDates(t *testing.T) {
	type row struct {
		Task  int32   `parquet:"client"`
		Label float64 `parquet:"label"`
		X     float64 `parquet:"x"`
		Time  int64   `parquet:"time,timestamp"`
		Date  int32   `parquet:"date,date"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	expect.Value(w.Write([]row{{1, -1, 2, 3, 4}, {1, 1, 2, 3, 4}}))(t)
	expect.NoError(t, w.Close())
	for drop, want := range map[string]string{"time": "date", "date": "time"} {
		_, err := readParquetBytes(t, b.Bytes(), func(c *data.Config) { c.DropColumns = data.NamesOf(drop) })
		want := `column "` + want + `" has dates or times`
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	}
	set, err := readParquetBytes(t, b.Bytes(),
		func(c *data.Config) { c.Columns, c.DropColumns, c.ClientColumn = data.NamesOf("x"), "", "time" })
	expect.That(t, err == nil && len(set.Clients) == 1, "a time as task: %v", err)
}

// pandasFile is a file as pandas writes one: an index of two levels, of which one has a name, and a feature.
func pandasFile(tb testing.TB, metadata string) []byte {
	type row struct {
		Index int64   `parquet:"__index_level_0__"`
		Task  string  `parquet:"client"`
		Label float64 `parquet:"label"`
		X     float64 `parquet:"x"`
	}
	var b bytes.Buffer
	options := []parquet.WriterOption{}
	if metadata != "" {
		options = append(options, parquet.KeyValueMetadata("pandas", metadata))
	}
	w := parquet.NewGenericWriter[row](&b, options...)
	expect.Value(w.Write([]row{{0, "a", -1, 2}, {1, "b", 1, 3}}))(tb)
	expect.NoError(tb, w.Close())
	return b.Bytes()
}

// What pandas wrote as its index is no feature, unless it is chosen.
func TestPandasIndex(t *testing.T) {
	const index = `{"index_columns": ["__index_level_0__", "client"]}`
	for _, c := range []struct {
		metadata string
		change   func(*data.Config)
		want     string // features, or a part of the error
	}{
		{index, nil, "x"},
		{`{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 2, "step": 1}]}`,
			func(c *data.Config) { c.DropColumns = data.NamesOf("__index*") }, "x"},
		{index, func(c *data.Config) { c.Columns = data.NamesOf("__index_level_0__", "x") }, "__index_level_0__ x"},
		{`{"index_columns": ["x"]}`, func(c *data.Config) { c.Columns = data.NamesOf("x") }, "x"},
		{`{"index_columns": ["x", "__index_level_0__"]}`, nil, "the header has no features"},
		{"", nil, `column 1: the column "__index_level_0__" is an index of pandas; name it in data.columns to use ` +
			`it, or in data.drop_columns to leave it out`},
		{"{", nil, "has corrupt metadata of pandas"},
	} {
		set, err := readParquetBytes(t, pandasFile(t, c.metadata), func(cfg *data.Config) {
			cfg.DropColumns = ""
			if c.change != nil {
				c.change(cfg)
			}
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = strings.Join(set.FeatureNames, " "); len(set.Clients) != 2 {
			t.Errorf("%s: %d clients, want 2", c.metadata, len(set.Clients))
		}
		expect.That(t, (err != nil || got == c.want) && (err == nil || strings.Contains(got, c.want)),
			"%s: %s, want %s", c.metadata, got, c.want)
	}
}

// FuzzParquet changes files of several compressions.
func FuzzParquet(f *testing.F) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		f.Add(parquetBytes(codec, smallParquet()...))
	}
	f.Add(arrowFile(f))
	f.Add(pandasFile(f, `{"index_columns": ["__index_level_0__"]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, change := range []func(*data.Config){nil,
			func(c *data.Config) { c.DropColumns, c.Missing, c.ClientColumn = "", data.MissingMean, "task" }} {
			set, err := readParquetBytes(t, content, change)
			if err != nil {
				_, ok := errors.AsType[*data.ParseError](err)
				expect.Must(t, ok, "%T %v is not a *data.ParseError", err, err)
				continue
			}
			if set.Missing.Values == 0 {
				checkShape(t, set)
			}
		}
	})
}
