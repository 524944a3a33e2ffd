package traces

import (
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
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

// longCSV has devices of 500 intervals each.
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

// Reading a file of ten megabytes keeps the heap small. From a third of the devices to the
// end, it grows by the name of each device, less than 300 bytes, while a device takes at
// least 5000 bytes in the file.
func TestFilesStream(t *testing.T) {
	const devices = 500
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n, points, early := 0, 0, int64(0)
	for r, err := range CSV(reader(t, longCSV(devices)), "x") {
		expect.NoError(t, err)
		n++
		points += len(r.Steps[Available])
		if n == devices/3 {
			early = heap()
		}
		if n == devices {
			if grown, most := heap()-early, int64(300*devices+1<<18); grown > most {
				t.Errorf("%d devices more hold %d bytes more: must be at most %d", devices-devices/3, grown, most)
			}
		}
	}
	expect.That(t, n == devices && points >= 1000*n, "%d devices of %d change points", n, points)
}

func reader(t *testing.T, parts iter.Seq[string]) io.Reader {
	r, stop := newMade(parts)
	t.Cleanup(stop)
	return r
}

// Readers stop after the first device if the loop breaks.
func TestReadersStopWhenAsked(t *testing.T) {
	for name, seq := range map[string]Sequence{
		"csv":        CSV(reader(t, longCSV(10)), "x"),
		"synthesize": Synthesize(SynthesisDefaults()),
	} {
		n := 0
		for _, err := range seq {
			expect.That(t, err == nil, "%s: %v", name, err)
			n++
			break
		}
		expect.That(t, n == 1, "%s: %d devices", name, n)
	}
}
