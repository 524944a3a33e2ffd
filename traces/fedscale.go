package traces

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fedsim/engine"
)

// FedScale reads either of FedScale's pickles, told apart by the keys of the
// first device.
//
// The availability of devices ("active" and "inactive", where intervals begin
// and end, and "finish_time", after which they repeat, in seconds) becomes
// [Available]: on in the union of [active[i], inactive[i]), cut at finish_time,
// which FedScale's own clock, modulo finish_time, never passes.
//
// The capacity of devices ("communication", in kbit/s as FedScale counts them,
// 1024 bit/s, for both ways, and "computation", in ms for a sample) becomes
// constant [DownMbps], [UpMbps] and [Speed], the last as the median of
// computation over the device's own, so that the median device has speed 1. The
// trace of a constant is given a span of a day.
//
// The decoder takes numbers, texts, lists, tuples and dicts, and refuses
// whatever would run code. A pickle is decoded whole, in 16 bytes for each
// number and at most [PickleMemory], before the first device comes out. Faults
// are a *ParseError with the offset in the file, those of one device with its
// name.
func FedScale(r io.Reader, name string) Recordings {
	return admitted(fedScale(r, name, PickleMemory), name)
}

func fedScale(r io.Reader, name string, limit int64) Recordings {
	return func(yield func(*Recording, error) bool) {
		p, root, err := decodePickle(r, name, limit)
		if err != nil {
			yield(nil, err)
			return
		}
		f := &fedScaleReader{pickle: p, name: name, budget: limit}
		refuse := func(format string, arguments ...any) {
			yield(nil, &ParseError{File: name, Offset: 0, Problem: fmt.Sprintf(format, arguments...)})
		}
		if root.tag != dict {
			refuse("the pickle holds %v: must be a dict of devices", root.tag)
			return
		}
		items := p.dicts[root.bits].items
		if len(items) == 0 {
			refuse("the dict is empty: must have a device")
			return
		}
		read := f.availability
		switch first := items[1]; {
		case first.tag != dict:
			refuse("the first device has %v: must have a dict", first.tag)
			return
		case f.has(first, "active"):
		case f.has(first, "computation"):
			read = f.capacity
			f.median(items)
		default:
			refuse("the first device has neither \"active\" (availability) nor \"computation\" (capacity)")
			return
		}
		for i := 0; i < len(items); i += 2 {
			err := read(items[i], items[i+1])
			if spent := f.spend(); spent != nil {
				yield(nil, spent)
				return
			}
			if !yield(f.result(err)) {
				return
			}
		}
	}
}

// fedScaleReader turns the dicts of a pickle into recordings.
type fedScaleReader struct {
	*pickle
	name      string
	budget    int64 // bytes of steps that may still be made: a list may be shared by many devices
	reference float64
	intervals []interval
	recording Recording
}

// interval is [from, to).
type interval struct{ from, to engine.Time }

func (f *fedScaleReader) result(err error) (*Recording, error) {
	if err != nil {
		return nil, err
	}
	return &f.recording, nil
}

func (f *fedScaleReader) has(d value, key string) bool {
	_, ok := f.lookup(d, key)
	return ok
}

// spend bounds what the devices take together, whatever they share.
func (f *fedScaleReader) spend() error {
	f.budget -= valueBytes * int64(1+2*len(f.intervals))
	if f.budget < 0 {
		return &ParseError{File: f.name, Offset: 0, Problem: "the devices share lists that take too much when each has its own"}
	}
	return nil
}

// deviceName returns what the key of a device says.
func (f *fedScaleReader) deviceName(key value) string {
	if key.tag == text {
		return f.texts[key.bits]
	}
	return strconv.FormatInt(int64(key.bits), 10)
}

// maxFields is how many keys the dict of a device may have. FedScale's have up
// to 5.
const maxFields = 64

// open begins the recording of a device, whose dict must be one.
func (f *fedScaleReader) open(key, d value) (fail func(string, ...any) error, err error) {
	name, at := f.deviceName(key), int64(-1)
	fail = func(format string, arguments ...any) error {
		return &ParseError{File: f.name, Offset: at, Device: name, Problem: fmt.Sprintf(format, arguments...)}
	}
	if problem := refuseName(name); problem != "" {
		name = excerpt(strconv.Quote(name))
		return nil, fail("the name %s", problem)
	}
	if d.tag != dict {
		return nil, fail("has %v: must have a dict", d.tag)
	}
	at = f.dicts[d.bits].at
	if n := len(f.dicts[d.bits].items) / 2; n > maxFields {
		return nil, fail("has %d keys: must have at most %d", n, maxFields)
	}
	f.recording.reset(name, 0)
	return fail, nil
}

func (f *fedScaleReader) availability(key, d value) error {
	fail, err := f.open(key, d)
	if err != nil {
		return err
	}
	finish, problem := f.time(d, "finish_time")
	if problem == "" && finish == 0 {
		problem = "finish_time = 0: must be positive"
	}
	if problem != "" {
		return fail("%s", problem)
	}
	active, problem := f.times(d, "active")
	if problem != "" {
		return fail("%s", problem)
	}
	inactive, problem := f.times(d, "inactive")
	if problem != "" {
		return fail("%s", problem)
	}
	if len(active) != len(inactive) {
		return fail("has %d times in active and %d in inactive: must have as many", len(active), len(inactive))
	}
	f.intervals = f.intervals[:0]
	for i := range active {
		from, problem := f.instant(active[i])
		if problem != "" {
			return fail("active[%d] %s", i, problem)
		}
		to, problem := f.instant(inactive[i])
		if problem != "" {
			return fail("inactive[%d] %s", i, problem)
		}
		if to < from {
			return fail("inactive[%d] = %v comes before active[%d] = %v", i, to, i, from)
		}
		f.intervals = append(f.intervals, interval{from, min(to, finish)})
	}
	f.recording.Span = finish
	f.recording.union(Available, f.intervals)
	return nil
}

// union makes a switch that is on within any of the intervals, which it sorts.
func (r *Recording) union(k Kind, intervals []interval) {
	slices.SortFunc(intervals, func(a, b interval) int {
		if a.from != b.from {
			if a.from < b.from {
				return -1
			}
			return 1
		}
		return 0
	})
	r.add(k, 0, 0)
	end := engine.Time(0) // of the union so far
	for _, x := range intervals {
		if x.to <= x.from || x.to <= end {
			continue
		}
		r.add(k, max(x.from, end), 1) // takes the place of an end at the same instant
		if end = x.to; end < r.Span {
			r.add(k, end, 0)
		}
	}
}

func (f *fedScaleReader) capacity(key, d value) error {
	fail, err := f.open(key, d)
	if err != nil {
		return err
	}
	var rates [2]float64
	for i, field := range [2]string{"computation", "communication"} {
		v, _ := f.lookup(d, field)
		x, ok := v.number()
		if !ok || !(x > 0 && x < math.MaxFloat32) {
			return fail("%s must be a positive number", field)
		}
		rates[i] = x
	}
	const kbit = 1024 / 1e6 // of FedScale's model_update_size, in Mbit
	f.recording.Span = engine.FromSeconds(86400)
	f.recording.add(DownMbps, 0, rates[1]*kbit)
	f.recording.add(UpMbps, 0, rates[1]*kbit)
	f.recording.add(Speed, 0, f.reference/rates[0])
	return nil
}

// median sets the reference of speed 1, the median over the devices that can
// be read: of an even number, the lower one of the middle two.
func (f *fedScaleReader) median(items []value) {
	var all []float64
	for i := 1; i < len(items); i += 2 {
		if items[i].tag != dict || len(f.dicts[items[i].bits].items)/2 > maxFields {
			continue
		}
		v, _ := f.lookup(items[i], "computation")
		if x, ok := v.number(); ok && x > 0 && x < math.MaxFloat32 {
			all = append(all, x)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		f.reference = all[(len(all)-1)/2]
	}
}

func (f *fedScaleReader) times(d value, key string) (times []value, problem string) {
	v, ok := f.lookup(d, key)
	if !ok || v.tag != list && v.tag != tuple {
		return nil, key + " must be a list of times in seconds"
	}
	return f.lists[v.bits], ""
}

func (f *fedScaleReader) time(d value, key string) (t engine.Time, problem string) {
	v, ok := f.lookup(d, key)
	if !ok {
		return 0, key + " is missing: must be a time in seconds"
	}
	if t, problem = f.instant(v); problem != "" {
		problem = key + " " + problem
	}
	return t, problem
}

// instant returns a number of seconds as a time.
func (f *fedScaleReader) instant(v value) (t engine.Time, problem string) {
	x, ok := v.number()
	if !ok {
		return 0, fmt.Sprintf("is %v: must be a number of seconds", v.tag)
	}
	if t, problem = seconds(x); problem != "" {
		problem = fmt.Sprintf("= %v: %s", x, problem)
	}
	return t, problem
}
