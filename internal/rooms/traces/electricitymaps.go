package traces

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fedsim/engine"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// The columns of a file of Electricity Maps that are read, in lower case. The intensity over the life
// cycle of power plants has had two names.
const (
	mapsTime  = "Datetime (UTC)"
	mapsZone  = "zone id"
	mapsCycle = "carbon intensity gco₂eq/kwh (life cycle)"
	mapsLCA   = "carbon intensity gco₂eq/kwh (lca)"
)

func init() {
	foreign = append(foreign, format{mapsTime, "a csv of Electricity Maps", ElectricityMaps})
}

// ElectricityMaps reads the csv files that Electricity Maps exports, with a row for each zone and
// hour. Every zone becomes a trace of [GridGPerKWh] over the life cycle of the plants, with the id
// of the zone as its name. Time 0 is the first row of the file, in UTC, and each zone begins there.
// The rows of a zone are in order of time and evenly spaced, but for the lengths of months. The last
// one lasts as long as the one before it. Rows without an intensity are refused.
// Errors are a *input.ParseError with the line, and end the sequence.
func ElectricityMaps(r io.Reader, name string) Sequence {
	return func(yield func(*Trace, error) bool) {
		text, err := input.NewNamedText(r, name)
		m := mapsReader{name: name, rows: input.NewCSV(text, maxLine)}
		if err == nil {
			err = m.header()
		}
		for err == nil {
			var more bool
			if more, err = m.row(); !more {
				break
			}
			if m.done.Name != "" && !yield(&m.done, nil) {
				return
			}
		}
		switch {
		case err == nil && m.trace.Name == "":
			err = ErrEmpty
		case err == nil:
			err = m.close()
		}
		if err != nil {
			yield(nil, err)
		} else {
			yield(&m.done, nil)
		}
	}
}

type mapsReader struct {
	name            string
	rows            *input.CSV
	at, zone, value int // columns
	origin          time.Time
	trace, done     Trace // the open zone, and the one that the last row has ended; without a name: none
	last, step      engine.Time
}

func (m *mapsReader) fail(format string, arguments ...any) error {
	line, column := m.rows.FieldPos(0)
	return &input.ParseError{File: m.name, Line: line, Column: column, Problem: fmt.Sprintf(format, arguments...)}
}

// header finds the columns.
func (m *mapsReader) header() error {
	row, err := m.rows.Read()
	if err != nil {
		return &input.ParseError{File: m.name, Problem: "cannot be read", Err: err}
	}
	find := func(names ...string) int {
		return slices.IndexFunc(row, func(head string) bool { return slices.Contains(names, strings.ToLower(head)) })
	}
	m.at, m.zone, m.value = find(strings.ToLower(mapsTime)), find(mapsZone), find(mapsCycle, mapsLCA)
	if min(m.at, m.zone, m.value) < 0 {
		return m.fail("the header must have the columns %s, Zone id and Carbon intensity gCO₂eq/kWh (Life cycle)",
			mapsTime)
	}
	return nil
}

// row reads a row, and sets done if it is the first one of another zone than the first.
func (m *mapsReader) row() (more bool, err error) {
	row, err := m.rows.Read()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, &input.ParseError{File: m.name, Problem: "cannot be read", Err: err}
	}
	when, err := time.Parse(time.DateTime, row[m.at])
	if err != nil {
		return false, m.fail("%s = %q: must be a time as 2021-01-01 00:00:00", mapsTime, quote.Cut(row[m.at]))
	}
	value, err := input.Number(row[m.value])
	if err != nil {
		return false, m.fail("carbon intensity %q: must be a number", quote.Cut(row[m.value]))
	}
	if m.origin.IsZero() {
		m.origin = when
	}
	at := engine.Time(when.Sub(m.origin)) // not before 0 unless times go back
	m.done.Name = ""
	switch zone := row[m.zone]; {
	case zone != m.trace.Name:
		if m.trace.Name != "" {
			if err := m.close(); err != nil {
				return false, err
			}
		}
		if at != 0 {
			return false,
				m.fail("zone %q begins at %s: must begin with the first row of the file, at %s", quote.Cut(zone),
					row[m.at], m.origin.Format(time.DateTime))
		}
		m.trace = Trace{Name: zone}
		m.step = 0
	case at <= m.last:
		return false,
			m.fail("%s of zone %q comes after another row of that or a later time: times must increase", row[m.at],
				quote.Cut(zone))
	default:
		step := at - m.last
		if m.step > 0 && max(step, m.step) > min(step, m.step)*3/2 {
			return false,
				m.fail("%s of zone %q comes %v after the row before it, which comes %v after its own: "+
					"a row is missing, and an intensity lasts until the next",
					row[m.at], quote.Cut(zone), step, m.step)
		}
		m.step = step
	}
	m.last = at
	m.trace.add(GridGPerKWh, at, value)
	return true, nil
}

// close ends the open zone.
func (m *mapsReader) close() error {
	if m.step == 0 {
		return m.fail("zone %q has one row: must have at least two, since a row lasts until the next",
			quote.Cut(m.trace.Name))
	}
	m.trace.Span = m.last.Add(m.step)
	if err := m.trace.Check(); err != nil {
		return m.fail("%v", err)
	}
	m.done = m.trace
	return nil
}
