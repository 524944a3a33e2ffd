package results

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
)

// Every field of a record has one column, every column a field of its own that it gets and sets,
// and a name, a unit and a description that fit.
func TestColumnsHaveEveryField(t *testing.T) {
	// A round also has lists and a function: values by device, by metric and by client have
	// tables of their own.
	checkColumns(t, RoundColumns, "Thetas", "Metrics", "ClientMetrics", "Client", "Values")
	checkColumns(t, DeviceColumns)
	checkColumns(t, ClientColumns)
}

// What walks the columns of rounds leaves none out: the sums of a run have every cost, and only
// costs, and a new round knows no metric and no count that may be unknown.
func TestColumnsOfRounds(t *testing.T) {
	var run Run
	for n := range 3 {
		r := NewRound()
		for i := range RoundColumns {
			switch c := &RoundColumns[i]; {
			case (c.Kind == MetricColumn || c.Optional) != c.Get(&r).IsUnknown():
				t.Errorf("%s of a new round is %v", c.Name, c.Get(&r))
			case c.Type() == WholeType:
				c.Set(&r, Whole(int64(100*i+n)))
			default:
				c.Set(&r, Real(float64(100*i+n)))
			}
		}
		run.Rounds = append(run.Rounds, r)
	}
	total := run.Total()
	for i := range RoundColumns {
		c := &RoundColumns[i]
		want := 0.0
		if c.Kind == CostColumn {
			want = float64(300*i + 3)
		}
		got := c.Get(&total).Real()
		expect.That(t, got == want, "the total of %s is %g, want %g", c.Name, got, want)
	}
	for i := range metrics {
		c := metricColumns[metrics[i].Name]
		expect.That(t, c != nil && c.Kind == MetricColumn, "metric %s has no column", metrics[i].Name)
	}
}

func checkColumns[R any](t *testing.T, columns []Column[R], others ...string) {
	names := map[string]bool{}
	field := map[any]string{} // names of columns by address in record
	record := new(R)
	place := func(c *Column[R]) any {
		if c.slot > 0 {
			return c.slot
		}
		return c.Field(record)
	}
	for i := range columns {
		c := &columns[i]
		switch {
		case c.Name == "" || c.Doc == "":
			t.Errorf("%T: column %q needs a name and a description", *record, c.Name)
		case names[c.Name]:
			t.Errorf("%T: two columns have the name %s", *record, c.Name)
		case field[place(c)] != "":
			t.Errorf("%T: columns %s and %s have the same field", *record, field[place(c)], c.Name)
		case !slices.Contains([]string{"", "s", "J", "B", "FLOP", "g"}, c.Unit):
			t.Errorf("%T: column %s has the unit %q", *record, c.Name, c.Unit)
		}
		names[c.Name], field[place(c)] = true, c.Name
		var want Value
		switch {
		case c.Type() == WholeType:
			want = Whole(int64(i) + 1)
		case c.Type() == RealType:
			want = Real(float64(i) + 0.5)
		case c.Values != nil:
			want = Text(c.Values[i%len(c.Values)])
		default:
			want = Text(fmt.Sprint("text ", i))
		}
		if c.Set(record, want); c.Get(record) != want || c.Check(want) != nil {
			t.Errorf("%T: column %s: %v instead of %v, %v", *record, c.Name, c.Get(record), want, c.Check(want))
		}
		if err := c.Check(Unknown(c.Type())); (err != nil) != (c.Type() == WholeType && !c.Optional ||
			c.Values != nil) {
			t.Errorf("%T: column %s, not known: %v", *record, c.Name, err)
		}
	}
	fields := reflect.ValueOf(record).Elem()
	for _, f := range reflect.VisibleFields(fields.Type()) {
		if f.Anonymous || slices.Contains(others, f.Name) {
			continue
		}
		name := field[fields.FieldByIndex(f.Index).Addr().Interface()]
		expect.That(t, name != "", "%T: no column has %s", *record, f.Name)
	}

	var b bytes.Buffer
	CodeRecord(state.Writing(&b), columns, record)
	back := new(R)
	CodeRecord(state.Reading(&b), columns, back)
	expect.That(t, reflect.DeepEqual(record, back), "%+v comes back as %+v", record, back)
	for i := range columns {
		c := &columns[i]
		changed := *record
		if c.Set(&changed, Unknown(c.Type())); SameMeasures(columns, record, &changed) == c.Kind.Measured() {
			t.Errorf("%T: the comparison of %s", *record, c.Name)
		}
	}
}
