package traces

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
)

// made is a file whose parts are generated during reading.
type made struct {
	next func() (string, bool)
	part string
}

func newMade(parts iter.Seq[string]) (r io.Reader, stop func()) {
	next, stop := iter.Pull(parts)
	return &made{next: next}, stop
}

func (m *made) Read(b []byte) (int, error) {
	for m.part == "" {
		var ok bool
		if m.part, ok = m.next(); !ok {
			return 0, io.EOF
		}
	}
	n := copy(b, m.part)
	m.part = m.part[n:]
	return n, nil
}

// longCSV has devices of 500 intervals each, like the other files.
func longCSV(devices int) iter.Seq[string] {
	return func(yield func(string) bool) {
		yield(csvHeader + "\n")
		for d := range devices {
			var b strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&b, "d%d,%d,available,%d\n", d, 100*i, (i+1)%2)
			}
			fmt.Fprintf(&b, "d%d,100000,end,\n", d)
			yield(b.String())
		}
	}
}

func longFLASH(devices int) iter.Seq[string] {
	return func(yield func(string) bool) {
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, `2020-01-02 %02d:%02d:%02d\tbattery_charged_on\n2020-01-02 %02d:%02d:%02d\tbattery_charged_off\n`,
				i/60, i%60, 0, i/60, i%60, 30)
		}
		for d := range devices {
			yield(fmt.Sprintf(`%c"d%d": {"messages": "%s"}`, "{,"[min(d, 1)], d, b.String()))
		}
		yield("}")
	}
}

// longPickle has the form of Python's pickler in protocol 2: a thousand devices at a
// time, with every dict, list and text in the memo.
func longPickle(devices int) iter.Seq[string] {
	return func(yield func(string) bool) {
		memo := uint32(0)
		put := func() string {
			memo++
			return string(binary.LittleEndian.AppendUint32([]byte{opLongBinPut}, memo-1))
		}
		number := func(n int) string {
			return string(binary.LittleEndian.AppendUint32([]byte{opBinInt}, uint32(n)))
		}
		var names [3]uint32
		yield("\x80\x02}" + put())
		for i, name := range []string{"finish_time", "active", "inactive"} {
			names[i] = memo
			yield(fmt.Sprintf("U%c%s%s0", len(name), name, put()))
		}
		key := func(i int) string {
			return string(binary.LittleEndian.AppendUint32([]byte{opLongBinGet}, names[i]))
		}
		for d := range devices {
			if d%1000 == 0 {
				yield("(")
			}
			var active, inactive strings.Builder
			for i := range 500 {
				active.WriteString(number(200 * i))
				inactive.WriteString(number(200*i + 100))
			}
			yield(number(d) + "}" + put() + "(" + key(0) + number(100000) +
				key(1) + "]" + put() + "(" + active.String() + "e" +
				key(2) + "]" + put() + "(" + inactive.String() + "eu")
			if d%1000 == 999 || d == devices-1 {
				yield("u")
			}
		}
		yield(".")
	}
}

// Reading files of ten to thirty megabytes keeps the heap small. From a third of the
// devices to the end, it grows by the name and the pickle's memo of each device, less
// than 300 bytes, while a device takes at least 5000 bytes in the file.
func TestFilesStream(t *testing.T) {
	for _, c := range []struct {
		name    string
		devices int
		parts   func(devices int) iter.Seq[string]
		read    func(io.Reader) Sequence
	}{
		{"csv", 500, longCSV, func(r io.Reader) Sequence { return CSV(r, "x") }},
		{"fedscale", 3000, longPickle, func(r io.Reader) Sequence { return admitted(fedScale(r, "x", 1<<26), "x") }},
		{"flash", 300, longFLASH, func(r io.Reader) Sequence { return FLASH(r, "x", FLASHDefaults()) }},
	} {
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		n, points, early := 0, 0, int64(0)
		for r, err := range c.read(reader(t, c.parts(c.devices))) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			points += len(r.Steps[Available]) + len(r.Steps[Charging])
			// At the same place within a thousand, which a pickle reads together.
			if n == c.devices/3 {
				early = heap()
			}
			if n == c.devices {
				if grown, most := heap()-early, int64(300*c.devices+1<<18); grown > most {
					t.Errorf("%s: %d devices more hold %d bytes more: must be at most %d", c.name, c.devices-c.devices/3, grown, most)
				}
			}
		}
		if n != c.devices || points < 1000*n {
			t.Errorf("%s: %d devices of %d change points", c.name, n, points)
		}
	}
}

func reader(t *testing.T, parts iter.Seq[string]) io.Reader {
	r, stop := newMade(parts)
	t.Cleanup(stop)
	return r
}

// Devices that share a list are read if they are near each other. If the list was
// released in between, they are rejected.
func TestReleasedLists(t *testing.T) {
	device := func(key byte, list string) string {
		return "K" + string(key) + "}(U\x0bfinish_timeK\x09U\x06active" + list + "U\x08inactiveh\x01us"
	}
	short := "](K\x01e"
	long := "](" + strings.Repeat("K\x05", 2000) + "e"
	shared := "\x80\x02}q\x00]q\x01(K\x02e0" + device(1, short)
	for _, c := range []struct{ input, want string }{
		{shared + device(2, short) + ".", ""},
		{shared + device(2, long) + ".", `device "2": has 2000 times in active and 1 in inactive`},
		{shared + device(2, long) + device(3, short) + ".", "the memo's object 1 belongs to an earlier device that was released: write the file again without shared lists"},
		// The outermost dict is never released.
		{shared + device(2, long) + "0h\x00.", `device "2": has 2000 times`},
		{shared + "0}.", "the pickle drops its first dict"},
		{shared + "0N.", "the pickle holds None: must be a dict"},
	} {
		var faults []string
		devices := 0
		for _, err := range fedScale(strings.NewReader(c.input), "x", 1<<16) {
			if err != nil {
				faults = append(faults, err.Error())
			} else {
				devices++
			}
		}
		if got := strings.Join(faults, "\n"); devices != 1 && c.want != "" || devices != 2 && c.want == "" || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%.60q: %d devices, %q, must say %q", c.input, devices, got, c.want)
		}
	}
}

// Readers stop after the first device if the loop breaks.
func TestReadersStopWhenAsked(t *testing.T) {
	for name, seq := range map[string]Sequence{
		"csv":        CSV(reader(t, longCSV(10)), "x"),
		"fedscale":   FedScale(reader(t, longPickle(10)), "x"),
		"flash":      FLASH(reader(t, longFLASH(10)), "x", FLASHDefaults()),
		"synthesize": Synthesize(SynthesisDefaults()),
	} {
		n := 0
		for _, err := range seq {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d devices", name, n)
		}
	}
}
