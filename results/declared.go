package results

import (
	"math"
	"slices"
)

// Declared are costs that a room adds to RoundColumns. They are not known until they are set, and files lack
// those that no run has.
type Declared struct {
	Columns []Column[Round] // with Name, Unit, Label, Doc and Head

	// The table of a run's costs in fedsim explain: its field in JSON, what amounts are called there and
	// in the table ("euros"), its title, and what labels begin with that the title says. No field: no table.
	Field, Amount, Title, Cut string

	first int // the place of the first column in Round.Values
}

var byRooms []*Declared

// AllDeclared returns what rooms have declared, in their order.
func AllDeclared() []*Declared { return byRooms }

// Declare adds columns to RoundColumns. Init functions of one package call it, in the order of the columns.
func Declare(d *Declared) {
	for _, other := range byRooms {
		d.first += len(other.Columns)
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		c.Kind, c.Optional = CostColumn, true
		c.slot = d.first + i + 1
		RoundColumns = append(RoundColumns, *c)
	}
	byRooms = append(byRooms, d)
	nameAxes()
}

// Set sets the values of all columns in a round; NaN: not known. Copies of the round stay as they are.
func (d *Declared) Set(r *Round, values ...float64) {
	r.own(d.first + len(values))
	copy(r.Values[d.first:], values)
}

// Has reports whether a column of a name is among those declared.
func (d *Declared) Has(column string) bool {
	return slices.ContainsFunc(d.Columns, func(c Column[Round]) bool { return c.Name == column })
}

// value returns the value of a slot.
func (r *Round) value(slot int) float64 {
	if slot > len(r.Values) {
		return math.NaN()
	}
	return r.Values[slot-1]
}

func (r *Round) setValue(slot int, v float64) {
	if slot <= len(r.Values) || !math.IsNaN(v) {
		r.own(slot)
		r.Values[slot-1] = v
	}
}

// own makes values up to a slot that no copy of the round shares.
func (r *Round) own(slots int) {
	r.Values = slices.Clone(r.Values)
	for len(r.Values) < slots {
		r.Values = append(r.Values, math.NaN())
	}
}

// Heads returns the columns that tables of costs show.
func Heads() (list []*Column[Round]) {
	for _, d := range byRooms {
		for i := range d.Columns {
			if c := &d.Columns[i]; c.Head != "" {
				list = append(list, c)
			}
		}
	}
	return list
}

// costs returns a map with a value for each of Heads; nil: there are none.
func costs(of func(*Column[Round]) float64) map[string]float64 {
	var values map[string]float64
	for _, c := range Heads() {
		if values == nil {
			values = map[string]float64{}
		}
		values[c.Name] = of(c)
	}
	return values
}

// KnownColumns returns RoundColumns without those of which no round has a value.
func KnownColumns(runs []Run) []Column[Round] {
	return slices.DeleteFunc(slices.Clone(RoundColumns), func(c Column[Round]) bool {
		for i := range runs {
			for k := range runs[i].Rounds {
				if v := c.Get(&runs[i].Rounds[k]); !v.IsUnknown() {
					return false
				}
			}
		}
		return c.MayLack()
	})
}

// Value returns the value of a column of rounds.parquet; NaN: it is not known, or there is no such column.
func (r *Round) Value(column string) float64 {
	for i := range RoundColumns {
		if c := &RoundColumns[i]; c.Name == column {
			return c.Get(r).Real()
		}
	}
	return math.NaN()
}
