package traces

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/input"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// written returns a sequence as csv.
func written(t testing.TB, seq Sequence) string {
	t.Helper()
	var b strings.Builder
	expect.NoError(t, WriteCSV(&b, seq))
	return b.String()
}

const goodCSV = `device,time_s,kind,value
a,0,available,0
a,0,down_mbps,12.5
a,28800,available,1
a,30000.000000001,down_mbps,0
a,86400,end,
b c,0,available,1
b c,0,down_mbps,3
b c,9223372036.854775806,end,
`

// collected is Collect that must not fail.
func collected(t filetest.T, seq Sequence) *Set {
	t.Helper()
	set := expect.Value(Collect(seq))(t)
	return set
}

func TestCSVRoundTrip(t *testing.T) {
	set := collected(t, CSV(strings.NewReader(goodCSV), "x.csv"))
	if set.Len() != 2 || set.Kinds().String() != "available, down_mbps" || set.Name(1) != "b c" ||
		set.spans[0] != 24*hour {
		t.Errorf("read %d traces of %v, %q, %v", set.Len(), set.Kinds(), set.Name(1), set.spans[0])
	}
	if diff := cmp.Diff(goodCSV, written(t, set.Traces())); diff != "" {
		t.Errorf("through a set (-file +written):\n%s", diff)
	}
	if diff := cmp.Diff(goodCSV, written(t, CSV(strings.NewReader(goodCSV), "x.csv"))); diff != "" {
		t.Errorf("device by device (-file +written):\n%s", diff)
	}
	// Variants written by spreadsheets and people read the same.
	for _, other := range []string{
		"\ufeff" + strings.ReplaceAll(goodCSV, "\n", "\r\n"),
		strings.TrimSuffix(goodCSV, "\n"),
		strings.ReplaceAll(goodCSV, ",0,", " , 0.0 , "),
		strings.ReplaceAll(goodCSV, ",28800,", ",2.88e4,"),
		strings.Replace(goodCSV, "a,28800", "a,100,available,0\na,28800", 1), // changes nothing
	} {
		diff := cmp.Diff(goodCSV, written(t, CSV(strings.NewReader(other), "x.csv")))
		expect.That(t, diff == "", "of %q (-good +read):\n%s", other, diff)
	}
}

func TestRoundTripRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.IntRange(1, 1<<kinds-1).Draw(t, "kinds")
		var all []*Trace
		for i := range rapid.IntRange(1, 4).Draw(t, "devices") {
			r := &Trace{Name: fmt.Sprintf("dev-%d", i)}
			for k := range kinds {
				if have>>k&1 == 0 {
					continue
				}
				steps, span := recording(t, k)
				r.Span = max(r.Span, span)
				for _, s := range steps {
					r.add(k, s.At, s.Value)
				}
			}
			all = append(all, r)
		}
		set := expect.Value(Collect(func(yield func(*Trace, error) bool) {
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		}))(t)
		var b bytes.Buffer
		expect.NoError(t, WriteCSV(&b, set.Traces()))
		again := collected(t, CSV(&b, "x.csv"))
		if diff := cmp.Diff(set, again, cmp.AllowUnexported(Set{}, series{})); diff != "" {
			t.Fatalf("-written +read:\n%s", diff)
		}
		i := 0
		for r := range again.Traces() {
			diff := cmp.Diff(all[i].Steps, r.Steps,
				cmp.Transformer("", func(s []Step) []Step { return append([]Step{}, s...) }))
			expect.Must(t, diff == "", "device %d (-made +read):\n%s", i, diff)
			i++
		}
	})
}

func TestBadCSV(t *testing.T) {
	const head = csvHeader + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "x.csv: the file is empty: must have the header device,time_s,kind,value"},
		{"device,time,kind,value\n",
			`x.csv:1:1: the header is "device,time,kind,value", must be device,time_s,kind,value`},
		{head, "x.csv: has a header but no rows: no traces: must have at least one device"},
		{head + "a,0,available\n", "x.csv:2:1: the row has 3 fields, must have 4: device,time_s,kind,value"},
		{head + "a,0,available,1,2\n", "x.csv:2:1: the row has 5 fields, must have 4: device,time_s,kind,value"},
		{head + "a,zero,available,1\n", `x.csv:2:3: time_s = "zero": must be a number of seconds`},
		{head + "a,-1,available,1\n", `x.csv:2:3: time_s = "-1": must not be negative`},
		{head + "a,1e10,available,1\n", `x.csv:2:3: time_s = "1e10": must be below 9223372036 s, 292 years`},
		{head + "a,NaN,available,1\n", `x.csv:2:3: time_s = "NaN": must be a number of seconds`},
		{head + "a,0,avialable,1\n", `x.csv:2:5: kind = "avialable": must be one of available, charging, ` +
			`battery_level, down_mbps, up_mbps, speed, grid_g_per_kwh, share, rtt_ms, loss, end ` +
			`(did you mean available?)`},
		{head + "a,5,available,1\n", "x.csv:2:3: available begins at 5 s: the first row of a kind must be at time 0"},
		{head + "a,0,available,1\na,0,available,0\n", "x.csv:3:3: available has two rows at 0 s: must have one"},
		{head + "a,0,available,1\na,7,available,0\na,6,available,1\n",
			"x.csv:4:3: time_s = 6 comes after 7: the rows of a device must be in order of time"},
		{head + "a,0,available,2\n", "x.csv:2:15: value = 2 of available: must be 0 (off) or 1 (on)"},
		{head + "a,0,battery_level,80\n",
			"x.csv:2:19: value = 80 of battery_level: must be in [0, 1], a share of full"},
		{head + "a,0,down_mbps,-3\n", "x.csv:2:15: value = -3 of down_mbps: must be in [0, 1e12]"},
		{head + "a,0,down_mbps,inf\n", `x.csv:2:15: value = "inf": must be a number`},
		{head + "a,0,down_mbps,0x1p4\n", `x.csv:2:15: value = "0x1p4": must be a number`},
		{head + "a,1_0,down_mbps,1\n", `x.csv:2:3: time_s = "1_0": must be a number of seconds`},
		{head + "a,0,down_mbps,\n", `x.csv:2:15: value = "": must be a number`},
		{head + "a,0,available,1\n",
			`x.csv:3: the file ends within the trace of device "a": its last row must be of kind end and say when ` +
				`the trace ends`},
		{head + "a,0,available,1\nb,0,available,1\n", `x.csv:3:1: device "b" begins within the trace of device "a": ` +
			`its last row must be of kind end and say when the trace ends`},
		{head + "a,0,available,1\na,9,end,1\n", `x.csv:3:9: value = "1": must be empty in a row of kind end`},
		{head + "a,0,available,1\na,9,available,0\na,9,end,\n",
			`x.csv:4:1: device "a": available changes at 9s: must be before the end of the trace, 9s`},
		{head + "a,9,end,\n", `x.csv:2:1: device "a": has no steps: must have at least one`},
		{head + "a,0,available,1\na,0,end,\n",
			`x.csv:3:1: device "a": its trace ends after 0s: must be positive and finite`},
		{head + ",0,available,1\n,9,end,\n", `x.csv:3:1: the device's name is empty`},
		{head + "\"a\",0,available,1\n\"a\",9,end,\n",
			`x.csv:3:1: the device's name "\"a\"" must not contain a comma, a quote or a line break`},
		{head + "a,0,available,1\na,9,end,\na,0,available,1\na,9,end,\n",
			`x.csv:5:1: device "a": has two traces: must have one, with consecutive rows`},
		{head + "a,0,available,1\na,9,end,\nb,0,speed,1\nb,9,end,\n",
			`x.csv:5:1: device "b": has speed, and device "a" has available: all devices must have the same kinds`},
		{head + strings.Repeat("a", maxLine+1), "x.csv:2: the line has more than 65536 bytes"},
	} {
		_, err := Collect(CSV(strings.NewReader(c.text), "x.csv"))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q:\n got %v\nwant %s", c.text, err, c.want)
			continue
		}
		_, ok := errors.AsType[*input.ParseError](err)
		expect.That(t, ok, "%.60q: the error is a %T", c.text, err)
	}
}

func TestBadRecordings(t *testing.T) {
	good := func() *Trace {
		r := &Trace{Name: "d", Span: 10}
		r.Steps[Available] = []Step{{0, 1}, {5, 0}}
		return r
	}
	for _, c := range []struct {
		spoil func(*Trace)
		want  string
	}{
		{func(r *Trace) { r.Steps[Available][0].At = 1 }, "begins at 1ns: must begin at 0"},
		{func(r *Trace) { r.Steps[Available][1].At = 0 }, "times must increase"},
		{func(r *Trace) { r.Steps[Available][1].At = 10 }, "must be before the end"},
		{func(r *Trace) { r.Steps[Available][1].Value = math.NaN() }, "(off)"},
		{func(r *Trace) { r.Span = engine.Never }, "finite"},
		{func(r *Trace) { r.Name = "a,b" }, "must not contain a comma"},
		{func(r *Trace) { r.Name = " a" }, "must not begin or end with a blank"},
		{func(r *Trace) { r.Name = strings.Repeat("a", 257) }, "at most 256"},
	} {
		r := good()
		c.spoil(r)
		one := func(yield func(*Trace, error) bool) { yield(r, nil) }
		if _, err := Collect(one); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("collected: %v, must say %q", err, c.want)
		}
		if err := WriteCSV(&strings.Builder{}, one); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("written: %v, must say %q", err, c.want)
		}
	}
	none := func(func(*Trace, error) bool) {}
	if _, err := Collect(none); !errors.Is(err, ErrEmpty) {
		t.Errorf("no device: %v", err)
	}
	if err := WriteCSV(&strings.Builder{}, none); !errors.Is(err, ErrEmpty) {
		t.Errorf("no device: %v", err)
	}
}

func TestTimesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := engine.Time(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "t"))
		if got, problem := parseTime(string(formatTime(nil, at))); got != at || problem != "" {
			t.Fatalf("%s reads back as %d (%s), must be %d", formatTime(nil, at), got, problem, at)
		}
	})
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(goodCSV))
	f.Add([]byte(csvHeader + "\na,0,available,1\na,0.5,end,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Collect(CSV(bytes.NewReader(data), "x.csv"))
		if err != nil {
			_, ok := errors.AsType[*input.ParseError](err)
			expect.Must(t, ok, "%v is no *input.ParseError", err)
			return
		}
		// A row has at least 5 bytes and makes at most one change point.
		points := 0
		for k := range set.series {
			points += len(set.series[k].times)
		}
		expect.Must(t, points <= len(data)/5, "%d points of %d bytes", points, len(data))
		var b bytes.Buffer
		expect.NoError(t, WriteCSV(&b, set.Traces()))
		again := collected(t, CSV(&b, "x.csv"))
		diff := cmp.Diff(set, again, cmp.AllowUnexported(Set{}, series{}))
		expect.Must(t, diff == "", "-read +read again:\n%s", diff)
	})
}
