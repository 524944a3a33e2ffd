package rundir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/input"
	"fedsim/results"
)

// columnsKey is the metadata key of the units and descriptions of the columns, as JSON:
// {"time_s": {"unit": "s", "description": "..."}}.
const columnsKey = "fedsim.columns"

// mostRows is the largest number of rows of a row group. It bounds the memory of writers
// and readers to about 10 MB.
const mostRows = 1 << 16

// newParquet starts a parquet file. The caller must close it.
func newParquet(w io.Writer, name, version string, columns []column) *parquet.GenericWriter[any] {
	return parquet.NewGenericWriter[any](w, schema(name, columns),
		parquet.Compression(&parquet.Snappy), // all readers know it
		parquet.MaxRowsPerRowGroup(mostRows),
		parquet.CreatedBy("fedsim", version, ""),
		parquet.KeyValueMetadata(columnsKey, describe(columns)),
	)
}

// parquetRows writes rows of values, one for each column, to a parquet file or a row group of it.
type parquetRows struct {
	to    parquet.RowWriter
	rows  [64]parquet.Row          // written together
	full  int                      // number of rows in use
	texts map[string]parquet.Value // of the rows so far: they repeat
}

func newParquetRows(to parquet.RowWriter, columns int) *parquetRows {
	p := &parquetRows{to: to, texts: map[string]parquet.Value{}}
	for i := range p.rows {
		p.rows[i] = make(parquet.Row, columns)
	}
	return p
}

// identify makes all rows begin with the columns that identify a run, given the swept keys.
func (p *parquetRows) identify(run *results.Run, keys []string) {
	texts := appendIdentity(nil, run, keys)
	seed := len(texts) - 1
	for _, row := range p.rows {
		for i, text := range texts[:seed] {
			row[i] = leveled(textValue(text), i)
		}
		row[seed] = leveled(parquet.Int64Value(int64(run.Seed)), seed)
	}
}

// write writes one row. The function set overwrites the values of an older row by leveled ones.
func (p *parquetRows) write(set func(row parquet.Row)) error {
	set(p.rows[p.full])
	if p.full++; p.full < len(p.rows) {
		return nil
	}
	return p.flush()
}

func (p *parquetRows) flush() error {
	_, err := p.to.WriteRows(p.rows[:p.full])
	p.full = 0
	return err
}

// leveled returns a value as that of a column which may be null.
func leveled(v parquet.Value, column int) parquet.Value {
	if v.IsNull() {
		return v.Level(0, 0, column)
	}
	return v.Level(0, 1, column)
}

// describe returns the metadata of columns.
func describe(columns []column) string {
	type about struct {
		Unit        string `json:"unit"`
		Description string `json:"description"`
	}
	all := make(map[string]about, len(columns))
	for _, c := range columns {
		all[c.name] = about{c.unit, c.doc}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts can be marshalled
	}
	return string(text)
}

// schema returns the schema of columns, in their order. Every cell may be null.
func schema(name string, columns []column) *parquet.Schema {
	root := ordered{Group: parquet.Group{}}
	for _, c := range columns {
		node := parquet.Optional(c.node())
		root.Group[c.name] = node
		root.fields = append(root.fields, parquet.Group{c.name: node}.Fields()...)
	}
	return parquet.NewSchema(name, root)
}

// ordered is a group whose fields stay in their order.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

func (c *column) node() parquet.Node {
	switch c.kind {
	case wholeCell:
		return parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	case seedCell:
		return parquet.Encoded(parquet.Uint(64), &parquet.RLEDictionary)
	case realCell:
		return parquet.Leaf(parquet.DoubleType)
	default:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
}

// textValue returns a text as a value; the empty one is null.
func textValue(s string) parquet.Value {
	if s == "" {
		return parquet.NullValue()
	}
	return parquet.ByteArrayValue([]byte(s))
}

// value returns the value of a record for a column of the file. One that is not known is null.
func (p *parquetRows) value(v results.Value, column int) parquet.Value {
	switch {
	case v.Type() == results.TextType:
		return p.text(v.Text(), column)
	case v.IsUnknown():
		return parquet.NullValue().Level(0, 0, column)
	case v.Type() == results.WholeType:
		return parquet.Int64Value(v.Whole()).Level(0, 1, column)
	default:
		return parquet.DoubleValue(v.Real()).Level(0, 1, column)
	}
}

// text returns a text, which is made once.
func (p *parquetRows) text(s string, column int) parquet.Value {
	text, ok := p.texts[s]
	if !ok {
		text = textValue(s)
		p.texts[s] = text
	}
	return leveled(text, column)
}

// recordValue is the inverse of parquetRows.value, of the same type as the value before.
func recordValue(v parquet.Value, before results.Value) results.Value {
	switch {
	case v.IsNull():
		return results.Unknown(before.Type())
	case before.Type() == results.WholeType:
		return results.Whole(v.Int64())
	case before.Type() == results.RealType:
		return results.Real(v.Double())
	case string(v.ByteArray()) == before.Text():
		return before // most texts repeat
	default:
		return results.Text(string(v.ByteArray()))
	}
}

// value returns a cell as a value.
func (c *column) value(cell string) (parquet.Value, error) {
	if cell == "" || c.kind == textCell {
		return textValue(cell), nil
	}
	switch c.kind {
	case wholeCell:
		n, err := strconv.ParseInt(cell, 10, 64)
		return parquet.Int64Value(n), err
	case seedCell:
		n, err := strconv.ParseUint(cell, 10, 64)
		return parquet.Int64Value(int64(n)), err
	default:
		x, err := strconv.ParseFloat(cell, 64)
		return parquet.DoubleValue(x), err
	}
}

// writeParquet writes the table as a parquet file.
func (t table) writeParquet(w io.Writer, version string) error {
	file := newParquet(w, t.name, version, t.columns)
	out := newParquetRows(file, len(t.columns))
	err := t.rows(func(cells []string) (err error) {
		failed := out.write(func(row parquet.Row) {
			for i := range cells {
				v, wrong := t.columns[i].value(cells[i])
				if wrong != nil && err == nil {
					err = fmt.Errorf("%s = %q: %w", t.columns[i].name, cells[i], wrong)
				}
				row[i] = leveled(v, i)
			}
		})
		if err == nil {
			err = failed
		}
		return err
	})
	return cmp.Or(err, out.flush(), file.Close())
}

// sumOf returns the SHA-256 of a file: of a scenario without its figures, and of runs.csv without its last column.
func sumOf(path string) ([]byte, error) {
	if name := filepath.Base(path); name == scenarioFile || name == runsFile {
		text, err := input.ReadOwn(path, maxText)
		if name == scenarioFile {
			return scenarioSum(text), err
		}
		sum := sha256.New()
		for line := range bytes.Lines(text) {
			sum.Write(line[:max(bytes.LastIndexByte(line, ','), 0)])
		}
		return sum.Sum(nil), err
	}
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), errors.Join(err, f.Close())
}

// scenarioSum returns the checksum of a scenario without its figures, which users may change after the run: the tables
// experiment.figure and experiment.figures are left out.
func scenarioSum(text []byte) []byte {
	sum := sha256.New()
	figure := false
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) {
			figure = bytes.HasPrefix(bytes.TrimLeft(line, "["), []byte("experiment.figure"))
		}
		if !figure {
			sum.Write(line)
		}
	}
	return sum.Sum(nil)
}

// file returns the entry of a file in the directory itself; nil: there is none.
func (m *Manifest) file(name string) *FileSum {
	for i := range m.Sums {
		if m.Sums[i].Name == name {
			return &m.Sums[i]
		}
	}
	return nil
}

// checkFile compares a file of the directory, if the manifest lists it, with its checksum there.
func (m *Manifest) checkFile(dir, name string) error {
	if m.file(name) == nil {
		return nil
	}
	path := filepath.Join(dir, name)
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	return m.checkSum(path, sum)
}

// checkSum compares the checksum of a file of the directory with that in the manifest.
func (m *Manifest) checkSum(path string, sum []byte) error {
	if of := m.file(filepath.Base(path)); of == nil || hex.EncodeToString(sum) == of.SHA256 {
		return nil
	}
	return fmt.Errorf("%s: is corrupt or of another run: its checksum does not match %s: "+
		"put the file of this run back, or run it again with --force", path, manifestFile)
}
