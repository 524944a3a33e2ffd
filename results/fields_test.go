package results

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
)

// A checkpoint has every number of a round.
func TestStateHasEveryField(t *testing.T) {
	var r, back Round
	fields := reflect.ValueOf(&r).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(i + 1))
		case reflect.Float64:
			f.SetFloat(float64(i + 1))
		}
	}
	var b bytes.Buffer
	var to, from RoundCoder
	to.Code(state.Writing(&b), &r)
	from.Code(state.Reading(&b), &back)
	expect.That(t, reflect.DeepEqual(r, back), "%+v comes back as %+v", r, back)
}

// A checkpoint may have rounds of several versions, each with columns of its own: a run that one version
// began and another resumed. Columns that are not known are skipped.
func TestStateOfOtherVersions(t *testing.T) {
	own, later := RoundColumns, 7.0
	defer func() { RoundColumns = own }()
	more := slices.Insert(slices.Clone(own), 2,
		Column[Round]{Kind: CostColumn, Name: "later", Optional: true,
			Field: func(*Round) any { return &later }})
	// who begins, resumes, reads
	for _, versions := range [][3][]Column[Round]{{more, own, own}, {more, own, more}, {own, more, more}} {
		var b bytes.Buffer
		var first, second RoundCoder // the second has read what the first wrote
		rounds := []Round{{Round: 1, TimeS: 2}, {Round: 2, TimeS: 4}, {Round: 3, TimeS: 6}, {Round: 4, TimeS: 8}}
		RoundColumns = versions[0]
		first.Code(state.Writing(&b), &rounds[0])
		size := b.Len()
		first.Code(state.Writing(&b), &rounds[1])
		expect.That(t, size >= 2*(b.Len()-size),
			"the second round has %d bytes after one of %d: the names are there again", b.Len()-size, size)
		RoundColumns = versions[1]
		second.Code(state.Reading(bytes.NewReader(b.Bytes())), new(Round))
		later = 7
		second.Code(state.Writing(&b), &rounds[2])
		second.Code(state.Writing(&b), &rounds[3])
		RoundColumns, later = versions[2], 0
		var back RoundCoder
		c := state.Reading(&b)
		for i := range rounds {
			r := Round{}
			if back.Code(c, &r); c.Err() != nil || !reflect.DeepEqual(r, rounds[i]) {
				t.Fatalf("%+v comes back as %+v: %v", rounds[i], r, c.Err())
			}
		}
		if len(versions[0]) == len(own) && later != 7 { // it is of the rounds after the resumption
			t.Errorf("the column that was added has the value %g", later)
		}
	}
}
