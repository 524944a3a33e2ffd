//go:build !noparquet

package rundir

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"fedsim/results"
)

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
