package pipe

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// order is an object of the tests.
type order struct {
	ID     int64
	Cost   float64
	Name   string
	Rush   bool
	None   bool
	Counts []int64
	Parts  []order
	Notes  map[string]string
}

var orderFields Object[order]

func init() { // it refers to itself
	orderFields = Object[order]{
		Required("id", func(d *Decoder, o *order) { o.ID = d.Integer(-5, 1<<53, "an id") }),
		Optional("cost", func(d *Decoder, o *order) { o.Cost = d.Float(0, 1e24, "a cost") }),
		Optional("name", func(d *Decoder, o *order) { o.Name = d.Text() }),
		Optional("rush", func(d *Decoder, o *order) { o.Rush = d.Bool() }),
		Optional("none", func(d *Decoder, o *order) { o.None = d.Null() }),
		Optional("counts", func(d *Decoder, o *order) {
			o.Counts = List(d, o.Counts, "a list of counts",
				func(d *Decoder, n *int64) { *n = d.Integer(0, 9, "a count") })
		}),
		Optional("parts",
			func(d *Decoder, o *order) { o.Parts = List(d, o.Parts, "a list of parts", orderFields.Read) }),
		Optional("notes", func(d *Decoder, o *order) { o.Notes = d.Texts() }),
	}
}

func TestDecode(t *testing.T) {
	d := new(Decoder)
	for line, want := range map[string]order{
		`{"id":1}`:                         {ID: 1},
		` {"name":"a\"\\\u00e9","id":-5} `: {ID: -5, Name: `a"\é`},
		`{ "\u0069d" : 9007199254740992 , "cost" : 2.50e+1 , "rush" : true }`: {ID: 1 << 53, Cost: 25,
			Rush: true},
		`{"id":2,"cost":1250000.0,"none":null,"counts":[]}`: {ID: 2, Cost: 1250000,
			None: true},
		`{"id":3,"counts":[1, 2],"parts":[{"id":4,"parts":[{"id":5}]},{"id":6,"rush":false}]}`: {ID: 3,
			Counts: []int64{1, 2}, Parts: []order{{ID: 4, Parts: []order{{ID: 5}}}, {ID: 6}}},
		`{"id":-0,"notes":{"a,:]}":"b","":"c"}}`: {
			Notes: map[string]string{"a,:]}": "b", "": "c"},
		},
	} {
		var got order
		if _, err := orderFields.Decode(d, []byte(line), &got); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// An error names the field, and what would be right.
func TestDecodeErrors(t *testing.T) {
	d := new(Decoder)
	for _, c := range []struct {
		line string
		kind Kind
		want string
	}{
		{"", Syntax, "the line is empty: must be a JSON object"},
		{"7", Type, "must be a JSON object, not 7"},
		{`{}`, Type, "id is missing"},
		{`{"id":1}{}`, Syntax, "must be one JSON object in a line"},
		{`{"id":1,"id":2}`, Syntax, "id: must be there once"},
		{`{"id":1,"\u0069d":2}`, Syntax, "id: must be there once"},
		{`{"id":1,"notes":{"a":"","a":""}}`, Syntax, "notes.a: must be there once"},
		{`{"ID":1}`, UnknownField,
			"ID: is not a field here: known are id, cost, name, rush, none, counts, parts, notes"},
		{`{"id":null}`, Type, "id: must be an id, not null"},
		{`{"id":"1"}`, Type, "id: must be an id, not a string"},
		{`{"id":1.0}`, Type, "id: must be an id, not 1.0"},
		{`{"id":-6}`, Type, "id: must be an id, not -6"},
		{`{"id":99999999999999999999}`, Type, "id: must be an id, not 99999999999999999999"},
		{`{"id":1,"cost":1.1e24}`, Type, "cost: must be a cost, not 1.1e24"},
		{`{"id":1,"cost":1e999}`, Type, "cost: must be a cost, not 1e999"},
		{`{"id":1,"cost": -Infinity}`, Type, "cost: must be a cost, not -Infinity"},
		{`{"id":1,"name":nope}`, Syntax,
			"name: byte 17: invalid character 'o' in literal null (expecting 'u'): must be a string"},
		{`{"id":1,"rush":"true"}`, Type, "rush: must be true or false, not a string"},
		{`{"id":1,"rush":truer}`, Syntax, "byte 20: invalid character 'r' after object value (expecting ',' or '}')"},
		{`{"id":1,"counts":[0,1,null]}`, Type, "counts[2]: must be a count, not null"},
		{`{"id":1,"counts":[0,1`, Syntax, "counts: the line ends within the JSON object"},
		{`{"id":1,"counts":[0}`, Syntax,
			"counts: byte 20: invalid character '}' after array element (expecting ',' or ']'): must be a count"},
		{`{"id":1,"counts":[0,]}`, Syntax,
			"counts[1]: byte 21: invalid character ']' at start of value: must be a count"},
		{`{"id":1,"parts":[{"id":1},{"id":2,"parts":[{}]}]}`, Type, "parts[1].parts[0]: id is missing"},
		{`{"id":1,"parts":[{"id":1},[]]}`, Type, "parts[1]: must be a JSON object, not a list"},
		{`{"id":1,"parts":{}}`, Type, "parts: must be a list of parts, not an object"},
		{`{"id":x,"name":7}`, Syntax, "id: byte 7: invalid character 'x' at start of value: must be an id"},
		{`{"name":7,"id":x}`, Type, "name: must be a string, not 7"}, // the first from the left
		{"{\"id\":1,\"name\":\"\xff\"}", Syntax, "name: byte 17: invalid UTF-8: must be a string"},
		{strings.Repeat(`{"id":1,"parts":[`, 20000), Syntax, ""}, // no overflow of the stack
	} {
		_, err := orderFields.Decode(d, []byte(c.line), new(order))
		expect.That(t, err != nil && err.Kind == c.kind && (c.want == "" || err.Error() == c.want),
			"%.100s:\n got %v\nwant %s %s", c.line, err, c.kind, c.want)
	}
}
