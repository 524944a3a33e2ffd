package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Column is a column of a table of records: a field of the record, and what readers and writers
// of files, checkpoints and figures need to know of it. RoundColumns, DeviceColumns and
// ClientColumns are the lists that all of them walk. A new column is a field of the record and a
// line in its list; rooms declare those of rounds that are theirs.
type Column[R any] struct {
	Kind  Kind
	Name  string // in tables: "time_s"
	Unit  string // "s", "J", "B", "FLOP" or "g"; empty: a count, a share, a text
	Label string // on axes of figures, without the unit; empty: no figure has it
	Head  string // of a declared cost in tables of costs; empty: they do not show it
	Doc   string // its meaning, for pages and exports
	// a count or a cost that may be unknown, and is until it is counted; texts and real numbers always may
	Optional bool
	Values   []string // the texts that are allowed; nil: any
	// Field returns a pointer to the field: *int, *int64, *float64, *string or *Outcome; nil: it is declared.
	Field func(*R) any
	slot  int // of a declared column of rounds, its place in Round.Values, from 1 on; 0: there is a field
}

// Kind is the purpose of a column.
type Kind uint8

const (
	KeyColumn    Kind = iota // part of what identifies the record
	TimeColumn               // virtual time at the end of the round
	StateColumn              // holds at some moment: sums over rounds mean nothing
	CostColumn               // of the round: sums over rounds are those of the run
	MetricColumn             // measures the model
)

// Measured reports whether columns of the kind do not depend on the model: the simulation
// measures them.
func (k Kind) Measured() bool { return k != MetricColumn }

// Horizontal reports whether figures show the column on their horizontal axis: rounds, time, and
// amounts, whose sum they show. Counts of a round are on the vertical axis.
func (c *Column[R]) Horizontal() bool { return c.Kind == KeyColumn || c.Unit != "" }

// MayLack reports whether files may lack the column: no value is known then.
func (c *Column[R]) MayLack() bool {
	return c.Kind != KeyColumn && c.Kind != TimeColumn && (c.Optional || c.Type() != WholeType)
}

// Get returns the value of a record.
func (c *Column[R]) Get(r *R) Value {
	if c.slot > 0 {
		return Real(any(r).(*Round).value(c.slot))
	}
	switch field := c.Field(r).(type) {
	case *float64:
		return Real(*field)
	case *int:
		return Whole(int64(*field))
	case *int64:
		return Whole(*field)
	case *string:
		return Text(*field)
	case *Outcome:
		return Text(string(*field))
	default:
		panic(fmt.Sprintf("column %s: its field is a %T", c.Name, field))
	}
}

// Check reports a value that the column cannot have: it names the values that are allowed.
func (c *Column[R]) Check(v Value) error {
	switch {
	case v.typ == RealType:
		return nil
	case v.typ == WholeType && v.Whole() < 0 && (!c.Optional || v.Whole() != UnknownCount):
		return errors.New("must be a count")
	case c.Values != nil && !slices.Contains(c.Values, v.text):
		return fmt.Errorf("must be one of %s", strings.Join(c.Values, ", "))
	default:
		return nil
	}
}

// Set sets the value of a record, which must be of the type of the column.
func (c *Column[R]) Set(r *R, v Value) {
	if c.slot > 0 {
		any(r).(*Round).setValue(c.slot, v.Real())
		return
	}
	switch field := c.Field(r).(type) {
	case *int:
		*field = int(v.Whole())
	case *int64:
		*field = v.Whole()
	case *float64:
		*field = v.Real()
	case *string:
		*field = v.text
	case *Outcome:
		*field = Outcome(v.text)
	}
}

// Type returns the type of the values.
func (c *Column[R]) Type() Type { return c.Get(new(R)).typ }

// ColumnNames names columns, and the types of their values, in a file whose records other versions may
// read: see ColumnsNamed.
func ColumnNames[R any](columns []Column[R]) string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Type().String() + ":" + columns[i].Name
	}
	return strings.Join(names, " ")
}

// ColumnsNamed returns the columns that ColumnNames has named, maybe those of another version. A column that
// is not among columns has a field of its own, of no record. Values of columns without a name become unknown
// in the record, if they may.
func ColumnsNamed[R any](columns []Column[R], names string, r *R) (named []Column[R], err error) {
	for _, name := range strings.Fields(names) {
		kind, name, _ := strings.Cut(name, ":")
		at := slices.IndexFunc(columns, func(c Column[R]) bool { return c.Name == name && c.Type().String() == kind })
		if at >= 0 {
			named = append(named, columns[at])
			continue
		}
		var field any = new(string)
		switch kind {
		case WholeType.String():
			field = new(int64)
		case RealType.String():
			field = new(float64)
		}
		named = append(named, Column[R]{Name: name, Optional: true, Field: func(*R) any { return field }})
	}
	for i := range columns {
		c := &columns[i]
		if slices.ContainsFunc(named, func(x Column[R]) bool { return x.Name == c.Name }) {
			continue
		}
		if !c.MayLack() {
			return nil, fmt.Errorf("has no column %q", c.Name)
		}
		c.Set(r, Unknown(c.Type()))
	}
	return named, nil
}

// CodeRecord writes the values of a record in columns, or reads them, bit for bit.
func CodeRecord[R any](code *Coder, columns []Column[R], r *R) {
	for i := range columns {
		c := &columns[i]
		v := c.Get(r)
		if v.typ == TextType {
			code.String(&v.text)
		} else {
			code.Uint64(&v.bits)
		}
		if code.Reads() && code.Err() == nil {
			if err := c.Check(v); err != nil {
				code.Fail(fmt.Errorf("%s %w", c.Name, err))
			}
			c.Set(r, v)
		}
	}
}

// SameMeasures reports whether two records have the same values, bit for bit, in all columns but
// metrics.
func SameMeasures[R any](columns []Column[R], a, b *R) bool {
	for i := range columns {
		if c := &columns[i]; c.Kind.Measured() && c.Get(a) != c.Get(b) {
			return false
		}
	}
	return true
}
